"""The attention matrix of one head: naive scores and probabilities, the kernel's own P, and their difference."""

from __future__ import annotations

from typing import Literal

import numpy as np

from explorer.attention.driving import record_at
from explorer.attention.moment import Moment
from explorer.attention.subject import Subject
from explorer.engine.progress import Progress
from explorer.link.messages import GetMatrix, Matrix, MatrixKind
from kernels import masks

LARGEST_SIDE = 2048
"""Cells a side that are sent one by one; above it cells are pooled by their maximum."""
LARGEST_DRIVEN_CELLS = 1 << 22
"""Cells up to which the kernel's own P is gathered from all of a head's tiles (16 MiB of float32)."""
PROBABILITY_FLOOR = 1e-4
DIFFERENCE_LEVEL = 1e-6
Scale = Literal["linear", "log", "diverging"]
_TITLES: dict[MatrixKind, str] = {
    "naive-scores": "Naive scores S",
    "naive-probabilities": "Naive probabilities P",
    "flash-probabilities": "The kernel's own P = exp(S − m so far)",
    "difference": "Kernel's P, normalised, minus naive P",
}


class MatrixUnavailableError(ValueError):
    """This picture cannot be made; the message says why."""


def matrix(subject: Subject, request: GetMatrix, progress: Progress) -> Matrix:
    """Answer a ``GetMatrix``. Raises MatrixUnavailableError above the budgets, or where the kernel's P has no name."""
    values = _values(subject, request, progress)
    problem = subject.problem
    allowed = masks.allowed(problem, request.batch, request.head, slice(0, problem.q_len), slice(0, problem.kv_len))
    low, high, scale = _levels(request.kind, subject, request)
    pool = -(-max(values.shape) // LARGEST_SIDE)
    return Matrix(
        id=request.id, kind=request.kind, batch=request.batch, head=request.head, pool=pool,
        values=pooled(values, pool).astype(np.float32), allowed=pooled(allowed, pool), low=low, high=high, scale=scale,
        title=_TITLES[request.kind] + (f", maximum of {pool} × {pool} pairs a cell" if pool > 1 else ""),
        source="execution", step=request.step if request.kind in ("flash-probabilities", "difference") else -1,
    )  # fmt: skip


def pooled(values: np.ndarray, pool: int) -> np.ndarray:
    """Maximum over pool x pool cells (edges may hold fewer); NaN only where every cell is NaN. (rows, columns)."""
    if pool == 1:
        return values
    filler = False if values.dtype == bool else -np.inf
    unknown = np.zeros(values.shape, bool) if values.dtype == bool else np.isnan(values)
    known = np.where(unknown, filler, values)
    rows, columns = (np.arange(0, side, pool) for side in values.shape)
    largest = np.maximum.reduceat(np.maximum.reduceat(known, rows, axis=0), columns, axis=1)
    if not unknown.any():
        return largest
    nothing = np.minimum.reduceat(np.minimum.reduceat(unknown, rows, axis=0), columns, axis=1)
    return np.where(nothing, np.nan, largest)


def _levels(kind: MatrixKind, subject: Subject, request: GetMatrix) -> tuple[float, float, Scale]:
    if kind == "naive-probabilities":
        return PROBABILITY_FLOOR, 1.0, "log"
    if kind == "flash-probabilities":
        return 0.0, 1.0, "linear"
    if kind == "difference":
        return -DIFFERENCE_LEVEL, DIFFERENCE_LEVEL, "diverging"
    naive = subject.references.naive(request.batch, request.head)
    finite = naive.scores[np.isfinite(naive.scores)] if naive is not None else np.zeros(0)
    return (float(finite.min()), float(finite.max()), "linear") if finite.size else (0.0, 1.0, "linear")


def _values(subject: Subject, request: GetMatrix, progress: Progress) -> np.ndarray:
    if request.kind.startswith("flash"):
        return _gather(subject, request, progress)[0]
    naive = subject.references.naive(request.batch, request.head)
    if naive is None:
        raise MatrixUnavailableError(subject.references.naive_refusal())
    if request.kind == "naive-scores":
        return naive.scores
    if request.kind == "naive-probabilities":
        return naive.probabilities
    probabilities, shift = _gather(subject, request, progress)
    return _normalised(subject, request, probabilities, shift) - naive.probabilities


def _gather(subject: Subject, request: GetMatrix, progress: Progress) -> tuple[np.ndarray, np.ndarray]:
    """The kernel's P of every tile of the head up to the step, and the m it was taken against, both (q_len, kv_len)."""
    driven, problem = subject.driven, subject.problem
    if driven is None or "P" not in driven.lens.values:
        raise MatrixUnavailableError(f"the explorer cannot name P in {subject.kernel.title}; naive pictures are there")
    cells = problem.q_len * problem.kv_len
    if cells > LARGEST_DRIVEN_CELLS:
        raise MatrixUnavailableError(
            f"the kernel's own P is gathered up to {LARGEST_DRIVEN_CELLS} cells, this head has {cells}; "
            "the current tile is shown"
        )
    probabilities = np.full((problem.q_len, problem.kv_len), np.nan, np.float32)
    shift = np.full_like(probabilities, np.nan)
    steps = [s for s in driven.head_steps(request.batch, request.head) if s <= request.step and driven.computed[s]]
    for count, step in enumerate(steps):
        progress("gathering P", count, len(steps))
        if step not in driven.probabilities:
            remember(Moment(subject, driven, record_at(driven, step, progress)))
        moment_rows, moment_keys, tile, m = driven.probabilities[step]
        probabilities[moment_rows, moment_keys] = tile
        shift[moment_rows, moment_keys] = m[:, None]
    return probabilities, shift


def remember(moment: Moment) -> None:
    """Keep this step's P for the picture, where the kernel's P has a name and the picture is small enough."""
    problem = moment.subject.problem
    tile, softmax = moment.tile("P"), moment.softmax
    if tile is None or softmax is None or problem.q_len * problem.kv_len > LARGEST_DRIVEN_CELLS:
        return
    kept = moment.driven.probabilities
    others = [step for step in kept if tuple(moment.driven.order[step, :2]) != moment.place[:2]]
    for step in others:  # one head's picture at a time bounds the memory
        del kept[step]
    kept[moment.step] = (moment.rows, moment.keys, tile, softmax.m_after)


def _normalised(subject: Subject, request: GetMatrix, probabilities: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """P as the finished softmax has it: exp(S - m) exp(m - LSE), LSE of float64; NaN in rows still in progress."""
    problem, blocks, driven = subject.problem, subject.blocks, subject.driven
    assert driven is not None
    result = np.full_like(probabilities, np.nan)
    steps = driven.head_steps(request.batch, request.head).reshape(driven.tile_states.shape[2:])
    for q_block, row_steps in enumerate(steps):
        computed = row_steps[driven.computed[row_steps]]
        if not computed.size or computed[-1] > request.step:
            continue
        rows = slice(q_block * blocks.block_q, min((q_block + 1) * blocks.block_q, problem.q_len))
        _, lse = subject.references.finished_rows(request.batch, request.head, rows)
        with np.errstate(invalid="ignore", over="ignore"):
            scaled = probabilities[rows] * np.exp(shift[rows] - lse[:, None])
        result[rows] = np.where(np.isnan(probabilities[rows]) | np.isneginf(lse)[:, None], 0.0, scaled)
    return result
