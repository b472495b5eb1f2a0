"""The plain references beside the fast path: float64 over the keys seen so far, and naive in XLA, per head."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from explorer.attention.tolerances import Tolerances, tolerances
from explorer.units import byte_text
from kernels import reference
from kernels.problem import AttentionProblem

NAIVE_BUDGET_BYTES = 1 << 30
"""S and P of one head together; above it the explorer does not ask for naive attention."""

JUDGED_PAIRS = 1 << 26
"""Pairs of a head up to which every finished row is held against float64 while stepping."""


class NaiveHead(NamedTuple):
    """float32 o (q_len, head_dim), scores and probabilities (q_len, kv_len) of one head, from XLA."""

    o: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray


class Prefix(NamedTuple):
    """float64 attention of some rows over the first keys: scores, m, l, o; m is -inf and l is 0 where none is seen."""

    scores: np.ndarray
    m: np.ndarray
    l: np.ndarray  # noqa: E741 -- the literature's letter
    o: np.ndarray
    lse: np.ndarray


@dataclass(frozen=True, eq=False)
class References:
    """References of one problem, computed when asked for and kept by head and row block.

    q, k, v: float32 (batch, heads, length, head_dim), rounded to the problem's dtype.
    """

    problem: AttentionProblem
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray

    @cached_property
    def _naive_heads(self) -> dict[tuple[int, int], NaiveHead]:
        return {}

    @cached_property
    def _finished(self) -> dict[tuple[int, int, int, int], Prefix]:
        return {}

    @cached_property
    def _last_prefix(self) -> dict[tuple, Prefix]:
        return {}

    def naive_refusal(self) -> str:
        """'' where naive attention of a head fits the explorer's budget, else why it is not shown."""
        return _over_budget(2 * 4 * self.problem.q_len * self.problem.kv_len, "one head")

    def whole_naive_refusal(self) -> str:
        """The same for all heads at once, as a full naive run holds them."""
        heads = self.problem.batch * self.problem.heads
        return _over_budget(2 * 4 * heads * self.problem.q_len * self.problem.kv_len, f"{heads} heads")

    @property
    def affordable(self) -> bool:
        """Whether finished rows are judged while stepping: a row block of a very long run would take seconds."""
        return self.problem.q_len * self.problem.kv_len <= JUDGED_PAIRS

    def naive(self, batch: int, head: int) -> NaiveHead | None:
        """Naive attention of one head; None above the budget."""
        if self.naive_refusal():
            return None
        key = (batch, head)
        if key not in self._naive_heads:
            self._naive_heads.clear()  # one head at a time: S and P are the large things here
            self._naive_heads[key] = _naive_head(self, batch, head)
        return self._naive_heads[key]

    def prefix(self, batch: int, head: int, rows: slice, keys: int) -> Prefix:
        """float64 attention of ``rows`` over keys 0 to ``keys``. The last one asked for is kept."""
        key = (batch, head, rows.start, rows.stop, keys)
        if key not in self._last_prefix:
            self._last_prefix.clear()
            self._last_prefix[key] = self._compute(batch, head, rows, keys)
        return self._last_prefix[key]

    def finished_rows(self, batch: int, head: int, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """float64 (o, lse) of ``rows`` over all keys, kept for every row block (it is no larger than the output)."""
        key = (batch, head, rows.start, rows.stop)
        if key not in self._finished:
            whole = self._compute(batch, head, rows, self.problem.kv_len)
            empty = np.zeros((0, 0))
            self._finished[key] = whole._replace(scores=empty)
        kept = self._finished[key]
        return kept.o, kept.lse

    def _compute(self, batch: int, head: int, rows: slice, keys: int) -> Prefix:
        scores, m, l, o, lse = reference.oracle_rows(self.problem, self.q, self.k, self.v, batch, head, rows, keys)  # noqa: E741
        return Prefix(scores, m, l, o, lse)

    @cached_property
    def largest_value(self) -> float:
        return float(np.abs(self.v).max())

    @cached_property
    def score_bound(self) -> float:
        """An upper bound of |S| (Cauchy-Schwarz on the longest q and k, times the scale, plus the largest bias)."""
        longest_q = float(np.sqrt((self.q.astype(np.float64) ** 2).sum(-1).max()))
        longest_k = float(np.sqrt((self.k.astype(np.float64) ** 2).sum(-1).max()))
        bound = abs(self.problem.scale_in_force) * longest_q * longest_k
        bias = self.problem.bias
        finite = np.abs(bias[np.isfinite(bias)]) if bias is not None else np.zeros(0)
        return bound + (float(finite.max()) if finite.size else 0.0)

    @cached_property
    def tolerances(self) -> Tolerances:
        return tolerances(self.problem.dtype, self.score_bound, self.largest_value)


def _over_budget(needed: int, whose: str) -> str:
    if needed <= NAIVE_BUDGET_BYTES:
        return ""
    return (
        f"naive attention would need {byte_text(needed)} for S and P of {whose}; "
        f"the explorer computes it up to {byte_text(NAIVE_BUDGET_BYTES)}"
    )


def head_problem(problem: AttentionProblem, batch: int, head: int) -> AttentionProblem:
    """The problem of one query head alone: batch 1, heads 1, with that head's part of every array."""

    def of_batch(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else array[batch : batch + 1]

    def of_head(array: np.ndarray | None) -> np.ndarray | None:
        if array is None:
            return None
        b = min(batch, array.shape[0] - 1)
        h = min(head, array.shape[1] - 1)
        return array[b : b + 1, h : h + 1]

    return problem.replace(
        batch=1,
        heads=1,
        kv_heads=None,
        q_segment_ids=of_batch(problem.q_segment_ids),
        kv_segment_ids=of_batch(problem.kv_segment_ids),
        kv_lengths=of_batch(problem.kv_lengths),
        mask=of_head(problem.mask),
        bias=of_head(problem.bias),
    )


def _naive_head(references: References, batch: int, head: int) -> NaiveHead:
    problem = references.problem
    kv_head = head // (problem.heads // problem.kv_head_count)
    one = head_problem(problem, batch, head)
    dtype = jnp.dtype(problem.dtype)
    q, k, v = (
        jnp.asarray(array[batch : batch + 1, index : index + 1], dtype)
        for array, index in ((references.q, head), (references.k, kv_head), (references.v, kv_head))
    )
    o, _, scores, probabilities = jax.jit(reference.naive(one))(q, k, v)
    o, scores, probabilities = (np.asarray(x, np.float32)[0, 0] for x in (o, scores, probabilities))
    return NaiveHead(o, scores, probabilities)
