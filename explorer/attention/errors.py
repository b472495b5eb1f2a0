"""What the engine's side raises on purpose: something a person should read, and a stop that was asked for."""

from __future__ import annotations

from typing import Literal

FailureKind = Literal["input", "kernel", "internal", "cancelled", "memory"]


class WorkbenchError(Exception):
    """A request cannot be done. ``message`` is one line for a person: what is wrong and what to do.

    Args:
        kind: whose fault it is, as in ``explorer.link.messages.Failed``.
        message: the line itself.
    """

    def __init__(self, kind: FailureKind, message: str) -> None:
        super().__init__(message)
        self.kind: FailureKind = kind
        self.message = message


class Cancelled(BaseException):
    """Raised by a progress callback where the request was cancelled or a newer one took its place.

    A ``BaseException``, so that an ``except Exception`` around a kernel does not swallow the stop.
    """
