"""Where in a run the explorer stands: grid step, and stage within it; and how to move from there.

Moves are pure functions of a cursor and a ``Configured``. They skip the steps whose tile the mask empties, unless asked
to visit them, with one exception: the end of a row block is its last step, computed or not, because the output block
leaves VMEM after that one.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from explorer.link.messages import Configured

Grain = Literal["stage", "step", "row block"]
GRAINS: tuple[Grain, ...] = ("stage", "step", "row block")
STAGES = 5


@dataclass(frozen=True)
class Cursor:
    """``step`` is 0-based; ``stage`` (1 to 5) is the last stage of the step that is shown as done."""

    step: int = 0
    stage: int = 5
    grain: Grain = "step"


def clamp(cursor: Cursor, configured: Configured) -> Cursor:
    """The cursor moved into the run, for when the run became shorter."""
    step = min(max(cursor.step, 0), max(configured.steps - 1, 0))
    return replace(cursor, step=step, stage=min(max(cursor.stage, 1), STAGES))


def go_to(cursor: Cursor, configured: Configured, step: int, stage: int = STAGES) -> Cursor:
    """Just after ``stage`` of grid step ``step``, clamped; a skipped step too."""
    return clamp(replace(cursor, step=step, stage=stage), configured)


def first(cursor: Cursor, configured: Configured, visit_skipped: bool = False) -> Cursor:
    """The first step whose tile is computed; in the stage grain before anything but its first stage."""
    stage = 1 if cursor.grain == "stage" else STAGES
    return replace(cursor, step=_step_after(configured, -1, visit_skipped, otherwise=0), stage=stage)


def last(cursor: Cursor, configured: Configured) -> Cursor:
    """The end of the whole run."""
    return go_to(cursor, configured, configured.steps - 1)


def forward(cursor: Cursor, configured: Configured, visit_skipped: bool = False) -> Cursor:
    """One move on by the cursor's grain; at the end of the run it stays there.

    From within a step, the grains step and row block first finish what they are in.
    """
    cursor = clamp(cursor, configured)
    if cursor.grain == "row block":
        end = end_of_row_block(cursor, configured)
        return end if end != cursor else end_of_row_block(go_to(cursor, configured, end.step + 1), configured)
    if cursor.stage < STAGES:
        return replace(cursor, stage=cursor.stage + 1 if cursor.grain == "stage" else STAGES)
    following = _step_after(configured, cursor.step, visit_skipped, otherwise=cursor.step)
    if following == cursor.step:
        return last(cursor, configured)
    return replace(cursor, step=following, stage=1 if cursor.grain == "stage" else STAGES)


def backward(cursor: Cursor, configured: Configured, visit_skipped: bool = False) -> Cursor:
    """One move back by the cursor's grain; where nothing comes before, it stays there.

    From within the first row block, the grain row block goes back to its first step.
    """
    cursor = clamp(cursor, configured)
    if cursor.grain == "row block":
        start = _row_block_start(configured, cursor.step)
        if start:
            return go_to(cursor, configured, start - 1)
        beginning = first(cursor, configured, visit_skipped)
        return beginning if beginning.step < cursor.step else cursor
    if cursor.grain == "stage" and cursor.stage > 1:
        return replace(cursor, stage=cursor.stage - 1)
    previous = _step_before(configured, cursor.step, visit_skipped)
    return cursor if previous is None else replace(cursor, step=previous, stage=STAGES)


def end_of_row_block(cursor: Cursor, configured: Configured) -> Cursor:
    """After the last step of the row block that the cursor is in."""
    cursor = clamp(cursor, configured)
    row_block = configured.timeline.row_block
    end = np.searchsorted(row_block, row_block[cursor.step], side="right") - 1 if len(row_block) else 0
    return go_to(cursor, configured, int(end))


def to_head(cursor: Cursor, configured: Configured, batch: int, head: int) -> Cursor:
    """The step of another head (and batch element) at the same tile; the nearest in grid order where it has no such
    tile; unchanged where the kernel's order is not known or the head does not occur.
    """
    order = configured.order
    of_head = np.flatnonzero((order[:, 0] == batch) & (order[:, 1] == head))
    if not of_head.size:
        return cursor
    here = order[clamp(cursor, configured).step, 2:]
    distance = np.abs(order[of_head, 2:].astype(np.int64) - here)
    # a row block away is farther than any number of tiles within the row block
    nearest = np.argmin(distance[:, 0] * (int(order[:, 3].max()) + 1) + distance[:, 1])
    return go_to(cursor, configured, int(of_head[nearest]), cursor.stage)


def to_tile(cursor: Cursor, configured: Configured, batch: int, head: int, q_block: int, kv_block: int) -> Cursor:
    """The step that works on a tile; unchanged where no step does."""
    steps = np.flatnonzero((configured.order == (batch, head, q_block, kv_block)).all(axis=1))
    return go_to(cursor, configured, int(steps[0])) if steps.size else cursor


def _visited(configured: Configured, visit_skipped: bool) -> np.ndarray:
    """Ascending step numbers that a walk visits: all where the mask leaves no tile at all."""
    steps = np.flatnonzero(configured.timeline.computed)
    return np.arange(configured.steps) if visit_skipped or not steps.size else steps


def _step_after(configured: Configured, step: int, visit_skipped: bool, otherwise: int) -> int:
    steps = _visited(configured, visit_skipped)
    place = np.searchsorted(steps, step, side="right")
    return int(steps[place]) if place < len(steps) else otherwise


def _step_before(configured: Configured, step: int, visit_skipped: bool) -> int | None:
    steps = _visited(configured, visit_skipped)
    place = int(np.searchsorted(steps, step, side="left")) - 1
    return int(steps[place]) if place >= 0 else None


def _row_block_start(configured: Configured, step: int) -> int:
    row_block = configured.timeline.row_block
    return int(np.searchsorted(row_block, row_block[step], side="left")) if len(row_block) else 0
