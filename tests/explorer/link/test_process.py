"""Starting and stopping child processes, and their ends in words."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from explorer.link import process

ROOT = Path(__file__).resolve().parents[3]


@pytest.mark.parametrize(
    ("code", "lines", "says"),
    [
        (0, [], "The engine ended by itself."),
        (-9, [], "The engine was killed (signal 9), by someone or by the system for want of memory."),
        (137, [], "The engine was killed (signal 9), by someone or by the system for want of memory."),
        (-11, ["Fatal Python error"], "The engine was stopped by signal 11 (segmentation fault)."),
        (-15, [], "The engine was stopped by signal 15 (from outside)."),
        (1, ["MemoryError: 4 GiB"], "The engine ran out of memory. Shorter lengths or fewer heads need less."),
        (-6, ["std::bad_alloc"], "The engine ran out of memory. Shorter lengths or fewer heads need less."),
        (1, ["Traceback", "ImportError: x", "  "], "The engine failed (exit code 1): ImportError: x"),
        (3, [], "The engine failed (exit code 3)."),
        (127, [], "The engine could not start: command not found or not executable."),
        (255, ["ssh: no route to host"], "The connection to the engine failed or was lost: ssh: no route to host"),
        (3221225477, [], "The engine failed (exit code 3221225477)."),
    ],
)
def test_ends_in_words(code, lines, says):
    assert process.explain_exit(code, lines) == says


def test_old_lines_about_memory_explain_nothing():
    assert process.explain_exit(3, ["RESOURCE_EXHAUSTED", *"abcde"]) == "The engine failed (exit code 3): e"


def test_starts_that_fail_in_words():
    assert process.explain_start(["no"], FileNotFoundError(2, "No such file")).endswith("command not found: no")
    denied = process.explain_start(["/etc/passwd"], PermissionError(13, "Permission denied"))
    assert denied == "The engine could not start: /etc/passwd: Permission denied"


def test_the_default_engine_imports_this_installation(tmp_path, monkeypatch):
    """Also from a folder of the user's with modules of the same names in it."""
    for name in ("kernels", "explorer", "numpy"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PYTHONPATH", raising=False)
    code = "import explorer.link.server as s; print(s.__file__)"
    assert process.default_command()[:2] == [sys.executable, "-P"]
    monkeypatch.setattr(process, "default_command", lambda: [sys.executable, "-P", "-c", code])
    with process.start(None) as child:
        output, errors = child.communicate(timeout=30)
    assert Path(output.decode().strip()) == ROOT / "explorer" / "link" / "server.py", errors


@pytest.mark.skipif(os.name != "posix", reason="sessions are POSIX")
def test_stopping_the_default_engine_stops_its_children_too(monkeypatch, eventually):
    code = "import subprocess; c = subprocess.Popen(['sleep', '60']); print(c.pid, flush=True); c.wait()"
    monkeypatch.setattr(process, "default_command", lambda: [sys.executable, "-c", code])
    with process.start(None) as child:
        grandchild = int(child.stdout.readline())
        process.kill(child)
        assert child.wait(5) == -9

    def gone() -> bool:
        command = ["ps", "-o", "stat=", "-p", str(grandchild)]
        state = subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()
        return state == "" or state.startswith("Z")

    eventually(gone)
