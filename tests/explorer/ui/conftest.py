"""A controller whose engine is a workbench in this process, answering when the test says so."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QCoreApplication, QEvent, QTimer
from PySide6.QtWidgets import QApplication

from explorer.attention.errors import WorkbenchError
from explorer.attention.workbench import Workbench
from explorer.link.messages import (
    Cancel,
    Configure,
    Diagnose,
    Failed,
    GetMatrix,
    GetStrips,
    GoTo,
    Hello,
    ListKernels,
    Measure,
    Run,
)
from explorer.session.config import Configuration
from explorer.session.session import Session
from explorer.session.state import StepState
from explorer.ui.bridge import ClientFactory
from explorer.ui.controller import Controller

SMALL = Configuration(input="normal", q_len=40, kv_len=32, heads=2, head_dim=8, block_q=16, block_kv=8, mask="causal")
_ANSWERS = {
    Configure: "configure", GoTo: "goto", GetMatrix: "matrix", GetStrips: "strips", Measure: "measure", Run: "run",
    ListKernels: "kernels", Diagnose: "diagnose",
}  # fmt: skip


class WorkbenchClient:
    """Stands for EngineClient: keeps requests until ``answer`` or ``answer_all`` has the workbench answer them."""

    def __init__(self, on_message: Callable, on_exit: Callable) -> None:
        self.on_message, self.on_exit = on_message, on_exit
        self.sent: list = []
        self.waiting: list = []
        self.starts = 0
        self.closed = False
        self.hello: Hello | None = None
        self._ids = itertools.count(1)
        self._workbench = Workbench()

    def next_id(self) -> int:
        return next(self._ids)

    def start(self) -> None:
        self.starts += 1
        self.hello = Hello(protocol=1, jax_version="0.0.0", platform="cpu", device="cpu", pid=1)
        self.on_message(self.hello)

    def send(self, request) -> bool:
        self.sent.append(request)
        self.waiting.append(request)
        return True

    def cancel(self, id: int) -> None:
        self.sent.append(Cancel(id=0, target=id))
        cancelled = [request for request in self.waiting if request.id == id]
        for request in cancelled:
            self.waiting.remove(request)
            self.on_message(Failed(id=id, message="stopped", kind="cancelled"))

    def busy_for(self) -> float:
        return 0.0

    def kill(self) -> None:
        self.die("The engine was killed.")

    def die(self, reason: str) -> None:
        self.waiting.clear()
        self._workbench = Workbench()
        self.on_exit(reason)

    def restart(self) -> None:
        self.waiting.clear()
        self._workbench = Workbench()
        self.start()

    def close(self) -> None:
        self.closed = True

    def answer(self) -> None:
        """Answer the oldest request."""
        request = self.waiting.pop(0)
        try:
            reply = getattr(self._workbench, _ANSWERS[type(request)])(request, lambda *_: None)
        except WorkbenchError as error:
            reply = Failed(id=request.id, message=error.message, kind=error.kind)
        self.on_message(reply)

    def answer_all(self) -> None:
        while self.waiting:
            self.answer()


class Desk:
    """A controller with its session and client, and a way to let everything happen."""

    def __init__(self, qtbot, configuration: Configuration) -> None:
        self.qtbot = qtbot
        self.session = Session(StepState(configuration=configuration))
        self.client: WorkbenchClient
        self.controller = Controller(self.session, self._make_client)

    def _make_client(self, on_message: Callable, on_exit: Callable) -> WorkbenchClient:
        self.client = WorkbenchClient(on_message, on_exit)
        return self.client

    @property
    def state(self) -> StepState:
        return self.session.state

    def settle(self) -> None:
        """Answer until nothing is wanted any more."""

        def done() -> None:
            self.client.answer_all()
            assert self.controller.settled or self.state.message_kind == "error"
            assert not self.client.waiting

        self.qtbot.waitUntil(lambda: _passes(done), timeout=60_000)

    def started(self) -> Desk:
        self.controller.start()
        self.settle()
        return self


def _passes(check: Callable[[], None]) -> bool:
    try:
        check()
    except AssertionError:
        return False
    return True


@pytest.fixture
def make_desk(qtbot) -> Iterator[Callable[..., Desk]]:
    """Make a desk for a configuration (a small causal one by default), closed after the test."""
    desks: list[Desk] = []

    def make(configuration: Configuration = SMALL) -> Desk:
        desks.append(Desk(qtbot, configuration))
        return desks[-1]

    yield make
    for desk in desks:
        desk.controller.close()


@pytest.fixture
def desk(make_desk: Callable[..., Desk]) -> Desk:
    """A started desk on the small configuration."""
    return make_desk().started()


@pytest.fixture
def prompt_engine() -> ClientFactory:
    """A factory of clients whose workbench answers by itself, as soon as the event loop runs."""

    class PromptClient(WorkbenchClient):
        def send(self, request) -> bool:
            QTimer.singleShot(0, self.answer_all)
            return super().send(request)

    return PromptClient


@pytest.fixture(autouse=True)
def own_look(qapp: QApplication) -> Iterator[None]:
    """Style, font and palette that a window gave to the application do not reach the next test."""
    font, palette = qapp.font(), qapp.palette()
    yield
    qapp.setStyleSheet("")
    qapp.setFont(font)
    qapp.setPalette(palette)


@pytest.fixture(autouse=True)
def garbage_on_this_thread() -> Iterator[None]:
    """Widgets of a test before must not be collected by a thread that prepares an input (see explorer.ui.collector)."""
    gc.disable()
    yield
    # windows that were closed go now, while no thread of a next test is at work
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
    gc.collect()
    gc.freeze()  # what stays (JAX keeps what it has compiled) is not looked through again after every test
    gc.enable()
