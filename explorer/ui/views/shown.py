"""What has happened by the cursor's stage: a snapshot holds a whole step, the views show it up to a stage. No Qt.

By stage 1 only the tile is named; by 2 its blocks are in VMEM; by 3 S, P, m and l are there; by 4 acc and the output
so far; by 5 what leaves VMEM has left.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.link.messages import Snapshot, SoftmaxState
from explorer.session.state import StepState

PARTITION, LOAD, SCORE, ACCUMULATE, SCHEDULE = 1, 2, 3, 4, 5
TO_COME, IN_PROGRESS, WRITTEN = 0, 1, 2


def shown_stage(state: StepState) -> int:
    """Last stage to show as done. While the snapshot of another step is on screen, all of that step is shown."""
    if state.snapshot is None or state.cursor.step != state.snapshot.step:
        return SCHEDULE
    return min(max(state.cursor.stage, PARTITION), SCHEDULE)


@dataclass(frozen=True)
class ShownOutput:
    """Output of the head as far as it is shown: float32 (q_len, head_dim), NaN where to come; int8 (q_len,) state of
    each row; float64 (q_len,) error against float64, NaN where there is none.
    """

    values: np.ndarray
    done: np.ndarray
    error: np.ndarray


def shown_output(snapshot: Snapshot, stage: int) -> ShownOutput:
    """The output so far; before stage 4 the current rows are what the step found, before stage 5 nothing is written.

    Rows of the current block that have seen no key yet count as to come.
    """
    current = slice(*snapshot.q_range)
    values, done, error = snapshot.output, snapshot.output_done.copy(), snapshot.error_float64
    if stage < SCHEDULE:
        done[current] = np.minimum(done[current], IN_PROGRESS)
    if stage < ACCUMULATE:
        values, error = values.copy(), error.copy()
        found = output_before(snapshot)
        values[current] = np.nan if found is None else found
        error[current] = np.nan
        done[current] = TO_COME if found is None else IN_PROGRESS
    if snapshot.softmax is not None:
        largest = snapshot.softmax.m_after if stage >= ACCUMULATE else snapshot.softmax.m_before
        rows = done[current]
        rows[np.isneginf(largest) & (rows == IN_PROGRESS)] = TO_COME
    return ShownOutput(values, done, error)


def output_before(snapshot: Snapshot) -> np.ndarray | None:
    """acc / l of the current rows as this step found them, NaN where a row had seen no key; None where not known."""
    if snapshot.acc_before is None or snapshot.softmax is None:
        return None
    if keeps_normalised(snapshot):
        return snapshot.acc_before
    with np.errstate(divide="ignore", invalid="ignore"):
        return snapshot.acc_before / snapshot.softmax.l_before[:, None]


def keeps_normalised(snapshot: Snapshot) -> bool:
    """Whether this kernel divides acc by l at every step (JAX's flash kernel does), by its own numbers."""
    if snapshot.acc_after is None or snapshot.softmax is None:
        return False
    sums = snapshot.softmax.l_after
    if np.allclose(sums[np.isfinite(sums)], 1.0):
        return False
    current = snapshot.output[slice(*snapshot.q_range)]
    return np.allclose(current, snapshot.acc_after, rtol=1e-3, atol=1e-6, equal_nan=True)


@dataclass(frozen=True)
class ShownSoftmax:
    """Running softmax of the row block, float32 (rows,) each. ``moved`` is False before stage 3: m is as before."""

    m_before: np.ndarray
    m: np.ndarray
    alpha: np.ndarray
    kept: np.ndarray
    """alpha * l_before."""
    added: np.ndarray
    moved: bool


def shown_softmax(softmax: SoftmaxState, stage: int) -> ShownSoftmax:
    if stage >= SCORE:
        return ShownSoftmax(
            softmax.m_before, softmax.m_after, softmax.alpha, softmax.alpha * softmax.l_before, softmax.new_sum, True
        )
    ones, zeros = np.ones_like(softmax.alpha), np.zeros_like(softmax.new_sum)
    return ShownSoftmax(softmax.m_before, softmax.m_before, ones, softmax.l_before, zeros, False)


def selected_row(state: StepState) -> int | None:
    """Absolute query row that the row views show: the selected one where it lies in the current row block, else the
    first of the block.
    """
    if state.snapshot is None:
        return None
    start, stop = state.snapshot.q_range
    if start == stop:
        return None
    row = state.selection.row
    return row if row is not None and start <= row < stop else start
