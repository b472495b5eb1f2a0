"""The engine's queue of requests: newest of a tag wins, cancel reaches waiting and running ones."""

from __future__ import annotations

import threading
from collections import deque

import msgspec

from explorer.link.messages import Configure, Request

SUPERSEDABLE = frozenset({"goto", "matrix", "configure", "measure"})
"""Tags of which a newer request, and any Configure, also stops the running one: nobody waits for its answer."""


class Inbox:
    """Requests between the thread that reads them and the one worker that does them. Thread-safe."""

    def __init__(self, supersedable: frozenset[str] = SUPERSEDABLE) -> None:
        self._supersedable = supersedable
        self._changed = threading.Condition()
        self._waiting: deque[Request] = deque()
        self._running: Request | None = None
        self._cancelled = False
        self._superseded = False
        self._inputs: dict[str, object] = {}

    def put(self, request: Request) -> list[Request]:
        """Queue a request behind all others. Returns the waiting ones that it makes needless, now removed.

        Those are the one of the same non-empty tag and, for a Configure, all supersedable ones: they are about what it
        replaces. It goes to the end, not to an old one's place: a GoTo sent after a Configure is meant for it.
        """
        with self._changed:
            request = self._with_inputs(request)
            replaced = [other for other in self._waiting if self._replaces(request, other)]
            self._waiting = deque(other for other in self._waiting if not self._replaces(request, other))
            self._waiting.append(request)
            running = self._running
            if running is not None and running.tag in self._supersedable and self._replaces(request, running):
                self._superseded = True
            self._changed.notify()
            return replaced

    def cancel(self, target: int) -> Request | None:
        """Drop the waiting request with this id and return it; if it is running, ask it to stop and return None."""
        with self._changed:
            if self._running is not None and self._running.id == target:
                self._cancelled = True
            dropped = next((other for other in self._waiting if other.id == target), None)
            self._waiting = deque(other for other in self._waiting if other.id != target)
            return dropped

    def take(self) -> Request:
        """Next request, waiting for one. It is the running one until ``done``."""
        with self._changed:
            while not self._waiting:
                self._changed.wait()
            self._running = self._waiting.popleft()
            self._cancelled = self._superseded = False
            return self._running

    def done(self) -> None:
        """The running request is answered."""
        with self._changed:
            self._running = None

    @property
    def stop_asked(self) -> bool:
        """Whether the running request should stop."""
        return self._cancelled or self._superseded

    @property
    def superseded(self) -> bool:
        """Whether it should stop because a newer one of its tag waits, and nobody cancelled it."""
        return self._superseded and not self._cancelled

    def _replaces(self, request: Request, other: Request) -> bool:
        if isinstance(request, Configure) and other.tag in self._supersedable:
            return True
        return bool(request.tag) and other.tag == request.tag

    def _with_inputs(self, request: Request) -> Request:
        """Fill in the inputs of the last Configure here, where none is lost when a Configure is replaced or stopped."""
        if not isinstance(request, Configure):
            return request
        if request.q is None and request.k is None and request.v is None:
            return msgspec.structs.replace(request, **self._inputs)
        self._inputs = {"q": request.q, "k": request.k, "v": request.v}
        return request
