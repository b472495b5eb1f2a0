"""The window's end of the link: starts an engine, sends requests without ever waiting, hands over what comes back.

No JAX and no Qt. Every public method may be called from any thread; callbacks come on threads of its own.
"""

from __future__ import annotations

import atexit
import itertools
import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import cast

from explorer.link.connection import Connection
from explorer.link.messages import (
    AnyReply,
    AnyRequest,
    Cancel,
    Dropped,
    Failed,
    Hello,
    Progress,
    Reply,
)


class EngineFailed(Exception):  # noqa: N818 - an outcome of a request, named beside EngineDied
    """The engine answered ``Failed`` (``.failed``), or dropped the request for a newer one."""

    def __init__(self, failed: Failed) -> None:
        super().__init__(failed.message)
        self.failed = failed


class EngineDied(Exception):  # noqa: N818 - see EngineFailed
    """The engine ended, or was not running; the message says why in plain words."""


def _ignore(_: object) -> None:
    """What happens to messages that nobody asked for."""


class EngineClient:
    """One engine process, started again as often as needed.

    Args:
        command: what to run, for example ``["ssh", "tpu-vm", "tilescope", "engine"]``; this installation's by default.
        on_message: gets every message but those that answer a ``call``, ``Hello`` first.
        on_exit: gets one plain sentence when an engine has ended or could not start, once for each, also after
            ``kill``; not after ``restart`` or ``close``. Requests without an answer get none then.
    """

    def __init__(
        self,
        command: Sequence[str] | None = None,
        on_message: Callable[[AnyReply], None] = _ignore,
        on_exit: Callable[[str], None] = _ignore,
    ) -> None:
        self._command = command
        self._on_message = on_message
        self._on_exit = on_exit
        self._ids = itertools.count(1)
        self._lock = threading.RLock()
        self._connection: Connection | None = None
        self._hello: Hello | None = None
        self._open: dict[int, None] = {}
        self._busy_since: float | None = None
        self._callers: dict[int, queue.SimpleQueue[AnyReply | str]] = {}

    @property
    def hello(self) -> Hello | None:
        """What the running engine said of itself; None until it has."""
        return self._hello

    @property
    def running(self) -> bool:
        """Whether there is an engine to send to."""
        return self._connection is not None

    def next_id(self) -> int:
        """A request id not used before."""
        return next(self._ids)

    def start(self) -> None:
        """Start an engine unless one runs. Returns at once; a failure to start comes through ``on_exit``."""
        with self._lock:
            if self._connection is not None:
                return
            connection = Connection(self._command, self._received, self._ended)
            self._connection = connection
            atexit.register(self.close)
            connection.open()

    def send(self, request: AnyRequest) -> bool:
        """Send without waiting. False where no engine runs: the request is gone and will not be answered."""
        with self._lock:
            if self._connection is None:
                return False
            if not isinstance(request, Cancel):
                if not self._open:
                    self._busy_since = time.monotonic()
                self._open[request.id] = None
            self._connection.send(request)
            return True

    def cancel(self, id: int) -> None:
        """Ask the engine to stop request ``id`` at its next progress point; it is answered ``Failed`` (cancelled)."""
        self.send(Cancel(id=self.next_id(), target=id))

    def call(
        self,
        request: AnyRequest,
        timeout: float | None = None,
        on_progress: Callable[[Progress], None] | None = None,
    ) -> Reply:
        """Send and wait for the answer, for use without a window. Not from a callback.

        Args:
            timeout: seconds; the request is cancelled after them.
            on_progress: called here, in this thread, with each ``Progress``.

        Raises:
            EngineFailed: answered ``Failed`` or ``Dropped``.
            EngineDied: the engine ended, or none runs.
            TimeoutError: no answer in time.
            RuntimeError: called in a callback, where it would wait for itself.
        """
        answers: queue.SimpleQueue[AnyReply | str] = queue.SimpleQueue()
        with self._lock:
            if self._connection is not None and self._connection.in_callback():
                raise RuntimeError("call() from a callback would wait for itself: use send()")
            if not self.send(request):
                raise EngineDied("The engine is not running.")
            self._callers[request.id] = answers
        try:
            return self._wait(answers, timeout, on_progress)
        except (EngineFailed, EngineDied):
            raise
        except BaseException:
            self.cancel(request.id)  # it stays among the callers, so that a late answer reaches nobody else
            raise

    def _wait(
        self,
        answers: queue.SimpleQueue[AnyReply | str],
        timeout: float | None,
        on_progress: Callable[[Progress], None] | None,
    ) -> Reply:
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            try:
                left = None if deadline is None else max(0.0, deadline - time.monotonic())
                answer = answers.get(timeout=left)
            except queue.Empty:
                raise TimeoutError(f"No answer from the engine within {timeout:g} s") from None
            if isinstance(answer, str):
                raise EngineDied(answer)
            if isinstance(answer, Progress):
                if on_progress is not None:
                    on_progress(answer)
            elif isinstance(answer, Failed):
                raise EngineFailed(answer)
            elif isinstance(answer, Dropped):
                raise EngineFailed(Failed(id=answer.id, message="A newer request took its place.", kind="cancelled"))
            else:
                return cast(Reply, answer)

    def busy_for(self) -> float:
        """Seconds since the running request began, 0.0 where none runs. Before ``hello`` the start counts too."""
        with self._lock:
            return 0.0 if self._busy_since is None else time.monotonic() - self._busy_since

    def kill(self) -> None:
        """Stop the engine, whatever it does. Returns at once; ``on_exit`` follows."""
        with self._lock:
            if self._connection is not None:
                self._connection.stop("The engine was stopped.")

    def restart(self) -> None:
        """Stop the engine if one runs and start a new one. Returns at once; the old one is heard of no more."""
        with self._lock:
            old = self._connection
            self._forget("The engine was started again.")
            self.start()
        if old is not None:
            threading.Thread(target=old.end, name="engine-end", daemon=True).start()

    def close(self) -> None:
        """End the engine and wait until it is gone (at most a few seconds). No callback comes after this."""
        with self._lock:
            old = self._connection
            self._forget("The engine was closed.")
        if old is not None:
            old.end()

    def _forget(self, reason: str) -> None:
        """No engine any more: whoever waits for an answer is told why."""
        self._connection = None
        atexit.unregister(self.close)
        self._hello = None
        self._open.clear()
        self._busy_since = None
        for answers in self._callers.values():
            answers.put(reason)
        self._callers.clear()

    def _received(self, connection: Connection, message: AnyReply) -> None:
        with self._lock:
            if connection is not self._connection:
                return
            if isinstance(message, Hello):
                self._hello = message
            else:
                answers = self._callers.get(message.id)
                if not isinstance(message, Progress):
                    self._answered(message)
                if answers is not None:
                    answers.put(message)
                    return
        self._on_message(message)

    def _answered(self, message: Reply) -> None:
        """Close a request. The oldest one without an answer is the running one."""
        self._callers.pop(message.id, None)
        if message.id not in self._open:
            return
        first = next(iter(self._open))
        del self._open[message.id]
        if message.id == first:
            self._busy_since = time.monotonic() if self._open else None

    def _ended(self, connection: Connection, reason: str) -> None:
        with self._lock:
            if connection is not self._connection:
                return
            self._forget(reason)
        self._on_exit(reason)
