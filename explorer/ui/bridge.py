"""The engine's client as Qt signals, and what happens when an engine ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from typing import Any, Protocol

from PySide6.QtCore import QObject, QTimer, Signal

from explorer.link.client import EngineClient
from explorer.link.messages import AnyReply, AnyRequest, Hello

RESTARTS_ALLOWED = 3
RESTART_WINDOW_S = 60.0
"""An engine that ends more often than this within this time is not started again by itself."""


class Client(Protocol):
    """What the window needs of ``explorer.link.client.EngineClient``."""

    @property
    def hello(self) -> Hello | None: ...
    def next_id(self) -> int: ...
    def start(self) -> None: ...
    def send(self, request: AnyRequest) -> bool: ...
    def cancel(self, id: int) -> None: ...
    def busy_for(self) -> float: ...
    def kill(self) -> None: ...
    def restart(self) -> None: ...
    def close(self) -> None: ...


ClientFactory = Callable[[Callable[[AnyReply], None], Callable[[str], None]], Client]


def local_or(command: Sequence[str] | None) -> ClientFactory:
    """A factory of clients that run this installation's engine, or ``command``."""
    return lambda on_message, on_exit: EngineClient(command, on_message=on_message, on_exit=on_exit)


class EngineBridge(QObject):
    """Brings the client's callbacks onto the window's thread.

    ``message``: every reply. ``ended``: why the engine ended, and whether it may be started again by itself.
    """

    message = Signal(object)
    ended = Signal(str, bool)
    _exited = Signal(str)

    def __init__(self, factory: ClientFactory, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._ends: list[float] = []
        self._exited.connect(self._on_exit)
        self.client = factory(self.message.emit, self._exited.emit)

    def send_later(self, milliseconds: int, action: Callable[[], Any]) -> QTimer:
        """A single-shot timer that belongs to this bridge and so dies with it."""
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.timeout.connect(action)
        timer.start(milliseconds)
        return timer

    def _on_exit(self, reason: str) -> None:
        now = time.monotonic()
        self._ends = [end for end in self._ends if now - end < RESTART_WINDOW_S] + [now]
        self.ended.emit(reason, len(self._ends) <= RESTARTS_ALLOWED)
