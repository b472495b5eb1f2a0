"""How long work reports itself."""

from __future__ import annotations

from collections.abc import Callable

Progress = Callable[[str, int, int], None]
"""Called with a text, how much is done and how much there is. It may raise: reporting is also the cancel point, and
what it raises passes through the engine unchanged and leaves it usable."""


def silent(text: str, done: int, total: int) -> None:
    """A progress that tells nobody and never cancels."""
