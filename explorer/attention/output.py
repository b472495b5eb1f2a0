"""The output so far of the head on screen, with its error against both references."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from explorer.attention.moment import Moment

TO_COME, IN_PROGRESS, WRITTEN = 0, 1, 2


class OutputSoFar(NamedTuple):
    """values: float32 (q_len, head_dim), NaN to come; done: int8 (q_len,); errors: float64 (q_len,), NaN unknown."""

    values: np.ndarray
    done: np.ndarray
    error_float64: np.ndarray
    error_naive: np.ndarray


def output_so_far(moment: Moment) -> OutputSoFar:
    """Rows written by finished row blocks of this head, then acc / l of the current one."""
    problem = moment.subject.problem
    so_far = OutputSoFar(
        np.full((problem.q_len, problem.head_dim), np.nan, np.float32),
        np.zeros(problem.q_len, np.int8),
        np.full(problem.q_len, np.nan),
        np.full(problem.q_len, np.nan),
    )
    _fill_written(moment, so_far)
    _fill_current(moment, so_far)
    return so_far


def largest(errors: np.ndarray) -> float:
    """Largest known error, NaN where none is known."""
    known = errors[np.isfinite(errors) | np.isinf(errors)]
    return float(known.max()) if known.size else float("nan")


def row_errors(got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """max |got - expected| of each row, float64; inf where got is not finite and expected is, NaN for empty rows."""
    with np.errstate(invalid="ignore"):
        difference = np.abs(got.astype(np.float64) - expected)
    difference = np.where(np.isfinite(expected) & ~np.isfinite(got), np.inf, difference)
    return difference.max(axis=1)


def _fill_written(moment: Moment, so_far: OutputSoFar) -> None:
    batch, head, q_block, _ = moment.place
    written = slice(0, q_block * moment.subject.blocks.block_q)
    if written.stop == 0:
        return
    name = moment.driven.lens.refs["o"]
    before = int(moment.row_block_steps[0])
    outputs = moment.driven.driver.outputs_so_far(before, before)
    so_far.values[written] = outputs[name][batch, head, written]
    block_q = moment.subject.blocks.block_q
    for start in range(0, written.stop, block_q):
        rows = slice(start, start + block_q)
        if moment.driven.driver.is_known(name, moment.first_step_of(start // block_q)):
            so_far.done[rows] = WRITTEN
            _judge(moment, so_far, rows)


def _fill_current(moment: Moment, so_far: OutputSoFar) -> None:
    rows = moment.rows
    if moment.output_rows is None:
        return
    if not moment.output_written:
        so_far.values[rows] = moment.output_rows
        so_far.done[rows] = IN_PROGRESS
        if moment.seen_after:
            so_far.error_float64[rows] = _where_seen(
                row_errors(moment.output_rows, moment.expected.o), moment.expected.lse
            )
        return
    block = np.asarray(moment.record.outputs[moment.driven.lens.refs["o"]], np.float32)
    so_far.values[rows] = block.reshape(block.shape[-2:])[: moment.row_count]
    so_far.done[rows] = WRITTEN
    _judge(moment, so_far, rows)


def _judge(moment: Moment, so_far: OutputSoFar, rows: slice) -> None:
    batch, head, _, _ = moment.place
    if not moment.subject.references.affordable:
        return
    expected, lse = moment.subject.references.finished_rows(batch, head, rows)
    so_far.error_float64[rows] = _where_seen(row_errors(so_far.values[rows], expected), lse)
    naive = moment.subject.references.naive(batch, head)
    if naive is not None:
        so_far.error_naive[rows] = _where_seen(row_errors(so_far.values[rows], naive.o[rows]), lse)


def _where_seen(errors: np.ndarray, lse: np.ndarray) -> np.ndarray:
    """Rows that see no key follow a policy that is applied after the kernel: they are not judged here."""
    return np.where(np.isneginf(lse), np.nan, errors)
