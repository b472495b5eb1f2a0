"""What the engine raises. Every message is one plain sentence for the person who wrote the kernel."""

from __future__ import annotations


class EngineError(Exception):
    """Base of the engine's errors."""


class CaptureError(EngineError):
    """The function cannot be captured: it raises, holds no (or several) ``pallas_call``, or uses an unknown feature."""


class DriveError(EngineError):
    """A captured program could not be compiled, or a grid step of it could not be run."""


def one_line(error: BaseException) -> str:
    """An exception as one line: the first of its message, or the last where the message is a traceback."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    if not lines:
        return type(error).__name__
    return lines[-1] if "Traceback (most recent call last)" in str(error) else f"{type(error).__name__}: {lines[0]}"
