"""The engine as a child process: how it is started, stopped, and how its end is put into words."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Sequence
from pathlib import Path

KILL_AFTER_SECONDS = 1.0
"""How long a process has to end after it was asked to."""

_MEMORY_SIGNS = ("MemoryError", "RESOURCE_EXHAUSTED", "bad_alloc", "Out of memory", "Cannot allocate memory")
_SIGNALS = {4: "illegal instruction", 6: "aborted", 7: "bus error", 8: "arithmetic error", 11: "segmentation fault"}


def default_command() -> list[str]:
    """The engine of this installation. ``-P`` keeps the user's current folder from shadowing modules."""
    return [sys.executable, "-P", "-m", "explorer.link.server"]


def start(command: Sequence[str] | None) -> subprocess.Popen[bytes]:
    """Start an engine with pipes for its three streams; ``None`` is the default command. Raises OSError.

    Our own engine gets a session of its own, so that Ctrl+C in the window's terminal does not reach it and so that
    killing reaches its children too. A command of the user's keeps the terminal: ssh may ask for a password there.
    """
    own = command is None
    return subprocess.Popen(
        default_command() if command is None else list(command),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment() if own else None,
        start_new_session=own,
    )


def _environment() -> dict[str, str]:
    """This process's environment, with the folder of ``explorer`` on the path where it runs from a source tree."""
    root = str(Path(__file__).resolve().parents[2])
    environment = dict(os.environ)
    if root not in (sysconfig.get_path("purelib"), sysconfig.get_path("platlib")):
        others = environment.get("PYTHONPATH")
        environment["PYTHONPATH"] = os.pathsep.join([root, *([others] if others else [])])
    return environment


def stop(process: subprocess.Popen[bytes]) -> None:
    """Ask a process to end, and kill it if it has not within ``KILL_AFTER_SECONDS``. Returns at once."""
    if process.poll() is not None:
        return
    _signal(process, signal.SIGTERM)
    threading.Thread(target=_kill_late, args=(process,), name="engine-stop", daemon=True).start()


def _kill_late(process: subprocess.Popen[bytes]) -> None:
    try:
        process.wait(KILL_AFTER_SECONDS)
    except subprocess.TimeoutExpired:
        kill(process)


def kill(process: subprocess.Popen[bytes]) -> None:
    """Kill a process, and its session where it has its own. Returns at once."""
    _signal(process, getattr(signal, "SIGKILL", signal.SIGTERM))


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    if process.poll() is not None:
        return
    try:
        if os.name == "posix" and os.getpgid(process.pid) == process.pid:
            os.killpg(process.pid, number)
        else:
            process.send_signal(number)
    except ProcessLookupError:
        pass  # it ended by itself in between


def explain_start(command: Sequence[str] | None, error: OSError) -> str:
    """Why a command could not be started, in one line."""
    name = (command or default_command())[0]
    if isinstance(error, FileNotFoundError):
        return f"The engine could not start: command not found: {name}"
    return f"The engine could not start: {name}: {error.strerror or error}"


def explain_exit(code: int, last_lines: Sequence[str]) -> str:
    """Why an engine ended, in one line, from its exit code and the last lines of its standard error."""
    if code in (127, 126):
        return _with_last("The engine could not start: command not found or not executable", last_lines)
    if code == 255:
        return _with_last("The connection to the engine failed or was lost", last_lines)
    if any(sign in line for line in last_lines[-5:] for sign in _MEMORY_SIGNS):
        return "The engine ran out of memory. Shorter lengths or fewer heads need less."
    # A shell or ssh in between reports a signal as 128 + its number.
    number = -code if code < 0 else code - 128
    if number == 9:
        return "The engine was killed (signal 9), by someone or by the system for want of memory."
    if 0 < number < 65:
        return f"The engine was stopped by signal {number} ({_SIGNALS.get(number, 'from outside')})."
    if code == 0:
        return "The engine ended by itself."
    return _with_last(f"The engine failed (exit code {code})", last_lines)


def _with_last(text: str, last_lines: Sequence[str]) -> str:
    last = next((line.strip() for line in reversed(last_lines) if line.strip()), "")
    return f"{text}: {last[:200]}" if last else f"{text}."
