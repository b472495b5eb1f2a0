"""Undo and redo of settings, with the place in the run that belonged to them."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.session.config import Configuration
from explorer.session.cursor import Cursor

LIMIT = 200
COALESCE_SECONDS = 1.0


@dataclass(frozen=True)
class Moment:
    """What undo brings back."""

    configuration: Configuration
    cursor: Cursor


@dataclass(frozen=True)
class _Change:
    before: Moment
    fields: frozenset[str]
    time: float


class History:
    """Two stacks of moments. Quick changes of the same field (a spin box that is held) are one step."""

    def __init__(self) -> None:
        self._past: list[_Change] = []
        self._future: list[Moment] = []

    def record(self, before: Moment, after: Configuration, time: float, join: bool = True) -> None:
        """Note a change from ``before`` to ``after`` at ``time`` (seconds, monotonic). Forgets what could be redone.

        With ``join`` a quick change of the same fields becomes one step with the one before; where they cancel each
        other out nothing is left of both.
        """
        fields = changed_fields(before.configuration, after)
        if not fields:
            return
        self._future.clear()
        last = self._past[-1] if self._past else None
        if join and last and last.fields == fields and time - last.time <= COALESCE_SECONDS:
            before = self._past.pop().before
            if before.configuration == after:
                return
        self._past = [*self._past, _Change(before, fields, time if join else float("-inf"))][-LIMIT:]

    def undo(self, now: Moment) -> Moment | None:
        """The moment before the last change; None where there is none."""
        if not self._past:
            return None
        self._future.append(now)
        return self._past.pop().before

    def redo(self, now: Moment) -> Moment | None:
        """The moment that undo left; None where there is none."""
        if not self._future:
            return None
        after = self._future.pop()
        fields = changed_fields(now.configuration, after.configuration)
        # never coalesced with what comes next: its time is long ago
        self._past.append(_Change(now, fields, float("-inf")))
        return after

    @property
    def undo_fields(self) -> frozenset[str]:
        """Settings that undo would change back; empty where it cannot."""
        return self._past[-1].fields if self._past else frozenset()

    @property
    def can_redo(self) -> bool:
        return bool(self._future)


def changed_fields(before: Configuration, after: Configuration) -> frozenset[str]:
    """Names of the settings that differ."""
    names = Configuration.__struct_fields__
    return frozenset(name for name in names if getattr(before, name) != getattr(after, name))
