"""The command line when something is wrong: one line that says what, and its exit code."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.link.client import EngineDied, EngineFailed
from explorer.link.messages import Failed
from explorer.session import places

Tilescope = Callable[..., int]
Said = Callable[[], str]


@pytest.mark.parametrize("name", ["out.txt", "none/out.npz", "."])
def test_a_place_that_cannot_be_saved_to_is_said_first(
    tilescope: Tilescope, one_line: Said, engine: Any, tmp_path: Path, name: str
) -> None:
    assert tilescope("run", "--save", str(tmp_path / name)) == 2
    assert "--save" in one_line()
    assert engine.requests == []


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (["run", "--q-len", "0"], ["q-len 0"]),
        (["run", "--q-len", "97"], ["q-len 97", "96"]),
        (["run", "--q-len", "ten"], ["--q-len", "'ten'"]),
        (["run", "--block-q", "0"], ["block-q 0"]),
        (["run", "--block-kv", "-1"], ["block-kv -1"]),
        (["run", "--mask", "diagonal"], ["--mask", "diagonal", "causal-bottom-right"]),
        (["run", "--window", "3"], ["--window", "LEFT,RIGHT"]),
        (["run", "--mask", "window"], ["window"]),
        (["run", "--dtype", "int8"], ["--dtype", "bfloat16"]),
        (["run", "--scale", "nan"], ["scale"]),
        (["run", "--input", "nothing"], ["input 'nothing'"]),
        (["run", "--input", "none.npz"], ["none.npz", "no such file"]),
        (["run", "--config", "none.toml"], ["none.toml"]),
        (["run", "--input", "normal", "--q-len", "100000000", "--kv-len", "100000000"], ["TiB", "up to"]),
        (["run", "--nonsense"], ["--nonsense", "tilescope run --help"]),
        (["run", "extra"], ["extra"]),
        (["step"], ["N"]),
        (["step", "144"], ["step 144", "0 to 143"]),
        (["step", "-1"], ["'-1'", "grid step"]),
        (["step", "1.5"], ["grid step"]),
        (["shot"], ["OUT.png"]),
        (["shot", "out.png", "--size", "big"], ["--size", "1440x900"]),
        (["shot", "out.png", "--size", "0x0"], ["--size"]),
        (["shot", "out.png", "--scale", "99"], ["picture scale"]),
        (["shot", "out.png", "--theme", "pink"], ["--theme", "dark"]),
        (["shot", "out.png", "--input", "nothing"], ["input 'nothing'"]),
        (["run", "--engine", "'"], ["--engine"]),
        (["one.npz", "two.npz"], ["two.npz"]),
        (["none.npz"], ["none.npz", "no such file"]),
        (["table.csv"], [".npz or .safetensors"]),
        (["--config", "none.toml"], ["none.toml"]),
    ],
)
def test_bad_input_is_one_line_and_2(tilescope: Tilescope, one_line: Said, argv: list[str], words: list[str]) -> None:
    assert tilescope(*argv) == 2
    line = one_line()
    for word in words:
        assert word in line


def test_a_refusing_kernel_comes_with_those_that_can(tilescope: Tilescope, one_line: Said, engine: Any) -> None:
    engine.failure = EngineFailed(Failed(id=1, kind="kernel", message="jax-flash takes no window"))
    assert tilescope("run", "--kernel", "jax-flash") == 2
    assert "jax-flash takes no window; kernels that can take this: xla, naive" in one_line()


def test_details_of_a_failure_are_in_the_log(tilescope: Tilescope, one_line: Said, engine: Any) -> None:
    failed = Failed(
        id=1, kind="internal", message="the kernel raised\nZeroDivisionError", details="Traceback: deep inside"
    )
    engine.failure = EngineFailed(failed)
    assert tilescope("run") == 2
    line = one_line()
    assert "the kernel raised ZeroDivisionError" in line
    assert str(places.log_file()) in line
    assert "deep inside" in places.log_file().read_text()


@pytest.mark.parametrize(
    ("failure", "code", "words"),
    [
        (EngineDied("The engine was stopped by signal 11."), 2, "signal 11"),
        (RuntimeError("surprise"), 2, "RuntimeError: surprise"),
        (MemoryError(), 2, "not enough memory"),
        (KeyboardInterrupt(), 130, "interrupted"),
    ],
)
def test_other_ends(
    tilescope: Tilescope, one_line: Said, engine: Any, failure: BaseException, code: int, words: str
) -> None:
    engine.failure = failure
    assert tilescope("run") == code
    assert words in one_line()
    assert engine.closed


def test_a_surprise_is_in_the_log_with_its_traceback(tilescope: Tilescope, one_line: Said, engine: Any) -> None:
    engine.failure = RuntimeError("surprise")
    tilescope("run")
    one_line()
    log = places.log_file().read_text()
    assert "Traceback" in log
    assert "surprise" in log


def test_without_a_display_the_plain_command_says_what_to_do(
    tilescope: Tilescope, one_line: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable in ("QT_QPA_PLATFORM", "DISPLAY", "WAYLAND_DISPLAY"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr(sys, "platform", "linux")
    assert tilescope() == 2
    line = one_line()
    assert "no display" in line
    assert "tilescope run, step and shot" in line


def test_without_qt_libraries_the_plain_command_names_the_packages(
    tilescope: Tilescope, one_line: Said, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_library(name: str, *rest: Any) -> Any:
        if name == "explorer" and rest[2] == ("app",):
            raise ImportError("libEGL.so.1: cannot open shared object file: No such file or directory")
        return real(name, *rest)

    real = __import__
    monkeypatch.setattr("builtins.__import__", no_library)
    assert tilescope() == 2
    line = one_line()
    for word in ("libEGL.so.1", "libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1"):
        assert word in line
