"""The command ``tilescope``: one line and an exit code for whatever goes wrong, never a traceback.

Only the standard library is imported before the command line is read, so that a wrong package under one of our names
is reported in words.
"""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from explorer import own_packages

if TYPE_CHECKING:
    import argparse

    from explorer.link.messages import Progress

DONE, NOT_DONE = 0, 2
INTERRUPTED = 130
"""128 + SIGINT, as shells have it."""

EngineFactory = Callable[[Sequence[str] | None], Any]


def main(argv: Sequence[str] | None = None, engine_factory: EngineFactory | None = None) -> int:
    """Run a command line. Returns 0 done, 1 wrong result, 2 could not be done, 130 interrupted.

    Args:
        argv: without the program's name; ``sys.argv`` where None.
        engine_factory: makes the engine's client from the --engine words; the real one where None.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    misplaced = own_packages.misplaced()
    if misplaced:
        return _say(own_packages.problem(misplaced[0]))
    try:
        code = _run(list(sys.argv[1:] if argv is None else argv), engine_factory or _real_engine)
        sys.stdout.flush()
        return code
    except KeyboardInterrupt:
        return _say("interrupted", INTERRUPTED)
    except BrokenPipeError:
        # what reads our output has left; Python would complain again while it closes the stream
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return NOT_DONE
    except ImportError as error:
        return _say(_import_message(error))
    except MemoryError:
        return _say("there is not enough memory for this: use shorter lengths or fewer heads")
    except Exception as error:
        return _say(_message(error))


def _run(argv: list[str], engine_factory: EngineFactory) -> int:
    from explorer.session.headless.parser import parse

    try:
        arguments = parse(argv)
    except SystemExit as done:  # --help and --version
        return int(done.code or 0)
    return _COMMANDS[arguments.command](arguments, engine_factory)


def _run_command(arguments: argparse.Namespace, engine_factory: EngineFactory) -> int:
    from explorer.session.headless import commands

    command = commands.run if arguments.command == "run" else commands.step
    report: list[str] = []
    with _engine(arguments, engine_factory) as engine, _progress_line() as on_progress:
        code = command(arguments, engine, report.append, on_progress)
    _print("\n".join(report))
    return code


def _doctor_command(arguments: argparse.Namespace, engine_factory: EngineFactory) -> int:
    from explorer.session.headless import commands

    def ask() -> Any:
        with _engine(arguments, engine_factory) as engine:
            return commands.ask_diagnosis(engine)

    return commands.diagnose(arguments, ask, _print)


def _shot_command(arguments: argparse.Namespace, engine_factory: EngineFactory) -> int:
    del engine_factory  # the picture is of a window, which has an engine of its own
    from explorer.session.headless.options import configuration_from

    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    configuration = configuration_from(arguments)
    from explorer.ui import shot

    shot.shoot(
        configuration, arguments.step, arguments.view, arguments.theme, arguments.size, arguments.picture_scale,
        arguments.out,
    )  # fmt: skip
    return DONE


def _window_command(arguments: argparse.Namespace, engine_factory: EngineFactory) -> int:
    del engine_factory
    from explorer.session import config, files
    from explorer.session.headless.doctor import display_check
    from explorer.session.headless.options import configuration_from

    if arguments.file and arguments.file.lower().endswith(".toml"):
        arguments.config = arguments.config or arguments.file
    elif arguments.file:
        files.check_path(arguments.file)
        arguments.input = arguments.file
    configuration = configuration_from(arguments)
    display = display_check(os.environ, sys.platform)
    if not display.ok:
        raise config.ConfigurationError(f"no display: {display.detail.removeprefix('none: ')}")
    from explorer import app

    engine = {"engine": arguments.engine} if arguments.engine else {}
    return int(app.main(configuration, arguments.file, **engine) or DONE)


def _engine_command(arguments: argparse.Namespace, engine_factory: EngineFactory) -> int:
    del arguments, engine_factory
    from explorer.link.server import engine_main

    return int(engine_main() or 0)


_COMMANDS: dict[str, Callable[[argparse.Namespace, EngineFactory], int]] = {
    "run": _run_command,
    "step": _run_command,
    "doctor": _doctor_command,
    "shot": _shot_command,
    "window": _window_command,
    "engine": _engine_command,
}


def _real_engine(command: Sequence[str] | None) -> Any:
    from explorer.link.client import EngineClient

    return EngineClient(command)


@contextlib.contextmanager
def _engine(arguments: argparse.Namespace, engine_factory: EngineFactory) -> Iterator[Any]:
    engine = engine_factory(arguments.engine)
    try:
        engine.start()
        yield engine
    finally:
        engine.close()


@contextlib.contextmanager
def _progress_line() -> Iterator[Callable[[Progress], None]]:
    """Progress on one line of a terminal that is wiped at the end; nothing where stderr is no terminal."""
    shown = sys.stderr.isatty()

    def show(progress: Progress) -> None:
        if shown:
            of = f" {progress.done} of {progress.total}" if progress.total > 1 else ""
            sys.stderr.write(f"\r\x1b[K{progress.text}{of}")
            sys.stderr.flush()

    try:
        yield show
    finally:
        if shown:
            sys.stderr.write("\r\x1b[K")


def _print(text: str) -> None:
    sys.stdout.write(text + "\n")


def _say(message: str, code: int = NOT_DONE) -> int:
    """One line on stderr, whatever the message holds."""
    with contextlib.suppress(OSError, ValueError):
        sys.stderr.write(f"tilescope: {' '.join(message.split())}\n")
    return code


def _message(error: Exception) -> str:
    """What to say of an error: those meant for people as they are, others by their class, with the log's place."""
    from explorer.link.client import EngineDied, EngineFailed
    from explorer.session.attention_inputs import InputError
    from explorer.session.config import ConfigurationError
    from explorer.session.errors import UserError
    from explorer.session.headless.parser import UsageError
    from explorer.session.logs import log_fault
    from kernels.problem import ProblemError

    if isinstance(error, InputError | ConfigurationError | UsageError | ProblemError | UserError):
        return str(error)
    if isinstance(error, EngineFailed):
        failed = error.failed
        if failed.kind != "internal":
            return failed.message
        return f"{failed.message} ({log_fault(failed.message, failed.details)})"
    if isinstance(error, EngineDied):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"{error.filename or 'the report could not be written'}: {error.strerror}"
    name = type(error).__name__
    return f"something failed inside Tilescope, {name}: {error} ({log_fault('unexpected', error=error)})"


def _import_message(error: ImportError) -> str:
    """Why a module did not load, and what would do."""
    wrong = own_packages.problems()
    if wrong:
        return wrong[0]
    name = error.name or ""
    if name.startswith("PySide6") or ".so" in str(error):
        from explorer.session.headless.doctor import QT_ADVICE

        return f"Qt does not load ({error}): {QT_ADVICE}; tilescope run and step do without"
    return f"a package is missing or damaged ({error}): 'tilescope doctor' says more; {own_packages.ADVICE}"


if __name__ == "__main__":
    raise SystemExit(main())
