"""The engine process over bare pipes: how it begins and ends, and what a broken window gets."""

from __future__ import annotations

import subprocess
import time
from collections.abc import Iterator

import msgspec
import pytest

from explorer.attention.errors import Cancelled, WorkbenchError
from explorer.link import codec, messages as m, server


@pytest.fixture
def child(fake_engine) -> Iterator[subprocess.Popen[bytes]]:
    """A fake engine that has said Hello."""
    pipe = subprocess.PIPE
    with subprocess.Popen(fake_engine, stdin=pipe, stdout=pipe, stderr=pipe) as process:
        assert isinstance(codec.read_reply(process.stdout), m.Hello)
        yield process
        process.kill()


def end(process: subprocess.Popen[bytes]) -> int:
    process.stdin.close()
    return process.wait(5)


def test_end_of_input_ends_it_with_code_0(child):
    assert end(child) == 0
    assert child.stderr.read() == b"the fake engine starts\n"


def test_end_of_input_ends_it_inside_an_endless_kernel(child):
    codec.write(child.stdin, m.GoTo(id=1, step=-1))
    time.sleep(0.1)
    assert end(child) == 0


def test_end_of_input_within_a_message_ends_it(child):
    child.stdin.write(b"\x64\0\0\0\0\0\0\0abc")
    assert end(child) == 0


def test_a_stream_that_is_no_message_ends_it_with_code_1(child):
    child.stdin.write(b"hello, is anyone there?")
    assert end(child) == 1
    assert b"no Tilescope message: 'hello, i'" in child.stderr.read()


def test_an_unknown_request_is_answered_and_skipped(child):
    codec.write_body(child.stdin, msgspec.msgpack.encode({"type": "Levitate", "id": 5}))
    codec.write(child.stdin, m.GoTo(id=6, step=2))
    first, second = codec.read_reply(child.stdout), codec.read_reply(child.stdout)
    assert (first.id, first.kind) == (5, "input")
    assert "Levitate" in first.message
    assert second.id == 6
    assert end(child) == 0


def test_a_window_that_closes_its_end_of_the_output_ends_it(child):
    child.stdout.close()
    codec.write(child.stdin, m.GoTo(id=1, step=2))
    assert child.wait(5) == 1


@pytest.mark.parametrize(
    ("arguments", "says"), [(["extra"], "takes no arguments"), ([], "speaks to Tilescope's window")]
)
def test_engine_main_tells_people_what_it_is_for(arguments, says, capsys, monkeypatch):
    monkeypatch.setattr("sys.stdin", None)
    assert server.engine_main(arguments) == 2
    assert says in capsys.readouterr().err


class Untellable(Exception):  # noqa: N818
    def __str__(self) -> str:
        raise ValueError("no text")


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        (WorkbenchError("kernel", "\n  two lines\nsecond"), "kernel", "two lines"),
        (MemoryError(), "memory", "Not enough memory. Shorter lengths or fewer heads need less. (MemoryError)"),
        (ValueError(), "internal", "ValueError"),
        (KeyError("x"), "internal", "KeyError: 'x'"),
        (Untellable(), "internal", "Untellable: (its message cannot be shown)"),
        (ValueError("x" * 5000), "internal", "ValueError: " + "x" * (server.MAX_LINE - 13) + "…"),
    ],
)
def test_failures_in_words(error, kind, message):
    failed = server.failure(3, error)
    assert (failed.id, failed.kind, failed.message) == (3, kind, message)
    assert type(error).__name__ in failed.details


def test_cancelled_is_not_swallowed_by_except_exception():
    assert not issubclass(Cancelled, Exception)


def test_every_request_but_cancel_has_a_method():
    requests = set(m.AnyRequest.__args__) - {m.Cancel}
    assert set(server._METHODS) == requests
    assert all(hasattr(server.Workbench, name) for name in server._METHODS.values())
