"""When each grid step's loads, compute and stores run in modelled time: loads one step ahead of compute. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from explorer.link.messages import Configured, Timeline


@dataclass(frozen=True)
class Schedule:
    """Start and end in microseconds, float64 (steps,) each, and the run's length.

    A model of a double buffer: the loads of a step begin when the compute of the step before begins (its slot is free
    then) and one after another; compute waits for its own loads; stores leave one after another.
    """

    load_start: np.ndarray
    load_end: np.ndarray
    compute_start: np.ndarray
    compute_end: np.ndarray
    store_start: np.ndarray
    store_end: np.ndarray
    visible: np.ndarray
    """Ascending numbers of the steps that take compute time; all where none does."""

    @property
    def length(self) -> float:
        return float(max(self.compute_end[-1], self.store_end[-1])) if len(self.compute_end) else 0.0

    def step_at(self, time: float) -> int:
        """The step that had begun to compute last by a time, of those that take time to."""
        steps = self.visible
        return int(steps[max(int(np.searchsorted(self.compute_start[steps], time, side="right")) - 1, 0)])

    def until(self, step: int) -> float:
        """When the next step that takes time begins: what runs until then runs beside this one, or for the next."""
        later = int(np.searchsorted(self.visible, step, side="right"))
        return float(self.compute_start[self.visible[later]]) if later < len(self.visible) else self.length


def schedule(timeline: Timeline) -> Schedule:
    """Lay out a whole run; steps are taken in order, each in constant time."""
    starts: list[tuple[float, float, float]] = []
    ends: list[tuple[float, float, float]] = []
    load_end = compute_start = compute_end = store_end = 0.0
    for load, compute, store in zip(
        timeline.load_us.tolist(), timeline.compute_us.tolist(), timeline.store_us.tolist(), strict=True
    ):
        load_start = max(load_end, compute_start)
        load_end = load_start + load
        compute_start = max(compute_end, load_end)
        compute_end = compute_start + compute
        store_start = max(compute_end, store_end)
        store_end = store_start + store
        starts.append((load_start, compute_start, store_start))
        ends.append((load_end, compute_end, store_end))
    first, last = np.array(starts).reshape(-1, 3), np.array(ends).reshape(-1, 3)
    timed = np.flatnonzero(timeline.compute_us > 0)
    visible = timed if timed.size else np.arange(len(first))
    return Schedule(first[:, 0], last[:, 0], first[:, 1], last[:, 1], first[:, 2], last[:, 2], visible)


@dataclass(frozen=True)
class Lanes:
    """Which inputs are drawn in which load lane: (title, columns of ``load_bytes``) each."""

    loads: tuple[tuple[str, tuple[int, ...]], ...]
    store: str
    roles: tuple[str, ...]
    """Colour role of each input."""


def lanes(configured: Configured) -> Lanes:
    """Q in one lane and the rest in another where the operands' roles are known; all inputs in one lane otherwise."""
    timeline = configured.timeline
    role_of = {operand.name: operand.role for operand in configured.operands}
    roles = tuple(role_of.get(name, "other") for name in timeline.inputs)
    moves = [bool(timeline.load_bytes[:, column].any()) for column in range(len(timeline.inputs))]
    outputs = [name for column, name in enumerate(timeline.outputs) if timeline.store_bytes[:, column].any()]
    store = "store O" if any(role_of.get(name) == "output" for name in outputs) else "store"
    query = tuple(c for c, role in enumerate(roles) if role == "q" and moves[c])
    others = tuple(c for c, role in enumerate(roles) if role != "q" and moves[c])
    if not query or not {"k", "v"} & set(roles):
        return Lanes((("load", query + others),), store, roles)
    return Lanes((("load Q", query), ("load K, V", others)), store, roles)


def row_blocks(timeline: Timeline) -> list[tuple[int, int]]:
    """(first step, one past the last) of each row block."""
    if not len(timeline.row_block):
        return []
    starts = np.concatenate(([0], np.flatnonzero(np.diff(timeline.row_block)) + 1, [len(timeline.row_block)]))
    return [(int(a), int(b)) for a, b in pairwise(starts)]
