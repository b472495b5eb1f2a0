"""An engine for tests: the real server around a workbench that needs no JAX, in a child process."""

from __future__ import annotations

import contextlib
import queue
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from explorer.link.client import EngineClient
from explorer.link.messages import AnyReply, Hello, Progress

ROOT = Path(__file__).resolve().parents[3]

FAKE_ENGINE = f'''
import os, sys, time
sys.path.insert(0, {str(ROOT)!r})
import numpy as np
from explorer.attention.errors import WorkbenchError
from explorer.link import messages as m
from explorer.link import server


class Workbench:
    """What a request does is told by its numbers."""

    def __init__(self):
        self.seen = []

    def configure(self, request, progress):
        """Answers with the inputs it was given."""
        if request.kernel == "slow":
            while True:
                progress("configuring", 0, 1)
                time.sleep(0.002)
        q, k, v = (np.zeros(0) if x is None else x for x in (request.q, request.k, request.v))
        return m.Strips(id=request.id, batch=0, head=0, q=q, k=k, v=v)

    def goto(self, request, progress):
        self.seen.append(request.step)
        step = request.step
        if step == -1:
            while True:
                pass
        if step == -2:
            for i in range(100_000):
                progress("waiting", i, 100_000)
                time.sleep(0.001)
        if step == -3:
            time.sleep(0.3)
        return m.Diagnosis(id=request.id, checks=tuple(m.Check(name=str(s), ok=True, detail="") for s in self.seen))

    def matrix(self, request, progress):
        print("a print in a kernel")
        os.write(1, b"bytes from a C library\\n")
        sys.stdout.flush()
        os.system("echo from a grandchild")
        return m.Diagnosis(id=request.id, checks=(m.Check(name="stdin", ok=sys.stdin.read() == "", detail=""),))

    def strips(self, request, progress):
        raise WorkbenchError("input", "the head does not exist\\nuse head 0")

    def measure(self, request, progress):
        """``repeats`` MiB of floats."""
        value = np.arange(request.repeats << 18, dtype=np.float32)
        return m.Strips(id=request.id, batch=0, head=0, q=value, k=value[:1], v=value[:0])

    def run(self, request, progress):
        if request.tag == "memory":
            raise RuntimeError("RESOURCE_EXHAUSTED: Out of memory allocating 99 bytes\\nmore lines")
        if request.tag == "array of objects":
            return m.Strips(id=request.id, batch=0, head=0, q=np.array([None]), k=np.zeros(1), v=np.zeros(1))
        if request.tag == "exit":
            sys.exit(7)
        if request.tag == "crash":
            os.abort()
        if request.tag == "alloc":
            sys.stderr.write("MemoryError\\n")
            os._exit(1)
        raise ZeroDivisionError("first line\\nsecond line")

    def kernels(self, request, progress):
        """Answers with the problem's own arrays, and under a wrong id."""
        p = request.problem
        return m.Strips(id=0, batch=p.batch, head=p.heads, q=p.mask, k=p.bias, v=p.kv_lengths)

    def diagnose(self, request, progress):
        for i in range(400):
            progress("step", i, 400)
            time.sleep(0.001)
        return m.Diagnosis(id=request.id, checks=())


def hello():
    return m.Hello(protocol=PROTOCOL, jax_version="none", platform="fake", device="fake", pid=os.getpid())


if __name__ == "__main__":
    if "jax" in sys.modules:
        raise SystemExit("the server loaded JAX by itself")
    sys.stderr.write("the fake engine starts\\n")
    sys.exit(server.serve(*server.protected_streams(), Workbench, hello))
'''


class Recorder:
    """A client with all its callbacks kept in queues."""

    def __init__(self, command: list[str] | None) -> None:
        self.messages: queue.SimpleQueue[AnyReply] = queue.SimpleQueue()
        self.exits: queue.SimpleQueue[str] = queue.SimpleQueue()
        self.client = EngineClient(command, self.messages.put, self.exits.put)

    def next(self, seconds: float = 20.0) -> Any:
        """Next message, of any type."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            with contextlib.suppress(queue.Empty):
                return self.messages.get(timeout=0.05)
            if not self.exits.empty():
                pytest.fail(self.exits.get())
        pytest.fail("no message in time")

    def next_answer(self) -> Any:
        """Next message that is no Progress."""
        while isinstance(message := self.next(), Progress):
            pass
        return message

    def exit_reason(self, seconds: float = 10.0) -> str:
        """What on_exit was told."""
        return self.exits.get(timeout=seconds)

    def hello(self) -> Hello:
        """Start the engine and wait for its first message."""
        self.client.start()
        message = self.next()
        assert isinstance(message, Hello)
        return message


@pytest.fixture(scope="session")
def fake_engine(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Command that runs the fake engine."""
    path = tmp_path_factory.mktemp("engine") / "fake_engine.py"
    path.write_text(FAKE_ENGINE.replace("PROTOCOL,", "m.PROTOCOL_VERSION,"))
    return [sys.executable, str(path)]


@pytest.fixture
def future_engine(tmp_path: Path) -> list[str]:
    """Command that runs an engine of another protocol version."""
    path = tmp_path / "future_engine.py"
    path.write_text(FAKE_ENGINE.replace("PROTOCOL,", "99,"))
    return [sys.executable, str(path)]


@pytest.fixture
def recorder() -> Iterator[Callable[[list[str] | None], Recorder]]:
    """Make clients that are closed after the test."""
    made: list[Recorder] = []

    def make(command: list[str] | None) -> Recorder:
        made.append(Recorder(command))
        return made[-1]

    yield make
    for one in made:
        one.client.close()


@pytest.fixture
def engine(recorder: Callable[[list[str] | None], Recorder], fake_engine: list[str]) -> Recorder:
    """A running fake engine that has said Hello."""
    one = recorder(fake_engine)
    one.hello()
    return one


@pytest.fixture
def eventually() -> Callable[[Callable[[], object]], None]:
    """Wait until something is true, at most 10 seconds."""

    def wait(condition: Callable[[], object]) -> None:
        deadline = time.monotonic() + 10
        while not condition():
            assert time.monotonic() < deadline, "it did not become true in time"
            time.sleep(0.005)

    return wait
