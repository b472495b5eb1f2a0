"""What is right: attention in float64 NumPy; and naive attention in XLA, which materialises S and P."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import ml_dtypes
import numpy as np

from kernels import masks
from kernels.problem import AttentionProblem


class Oracle(NamedTuple):
    """float64. o: (batch, heads, q_len, head_dim); lse: (batch, heads, q_len); scores and probabilities: (batch, heads,
    q_len, kv_len), scores -inf where masked. Rows that see no key: lse -inf, probabilities 0, o by the policy."""

    o: np.ndarray
    lse: np.ndarray
    scores: np.ndarray
    probabilities: np.ndarray


class OracleRows(NamedTuple):
    """float64, for some rows of a head over its first keys.

    scores: (rows, keys). m, l, lse: (rows,). o: (rows, head_dim). m and lse are -inf and l is 0 where a
    row sees no key.
    """

    scores: np.ndarray
    m: np.ndarray
    l: np.ndarray  # noqa: E741 -- the literature's letter
    o: np.ndarray
    lse: np.ndarray


def rounded(problem: AttentionProblem, x: np.ndarray) -> np.ndarray:
    """float32 array of ``x`` rounded to the problem's dtype: what a kernel of that dtype is really given."""
    if problem.dtype == "float32":
        return np.asarray(x, np.float32)
    return np.asarray(x, np.float32).astype(ml_dtypes.bfloat16).astype(np.float32)


def oracle(problem: AttentionProblem, q: np.ndarray, k: np.ndarray, v: np.ndarray) -> Oracle:
    """Attention in float64. q: (batch, heads, q_len, head_dim); k, v: (batch, kv_heads, kv_len, head_dim).

    Give arrays that are already rounded to the problem's dtype (see ``rounded``). Builds all of S and P. Raises
    ``ProblemError`` for other shapes.
    """
    problem.check_operands(q, k, v)
    heads = [
        [oracle_rows(problem, q, k, v, b, h, slice(0, problem.q_len)) for h in range(problem.heads)]
        for b in range(problem.batch)
    ]

    def gather(part: str) -> np.ndarray:
        return np.stack([np.stack([getattr(head, part) for head in batch]) for batch in heads])

    scores, lse = gather("scores"), gather("lse")
    with np.errstate(invalid="ignore", over="ignore"):
        probabilities = np.exp(scores - _origin(lse)[..., None])
    return Oracle(gather("o"), lse, scores, probabilities)


@np.errstate(invalid="ignore", over="ignore")  # NaN and inf in the inputs are to show in the result, not in a log
def oracle_rows(
    problem: AttentionProblem,
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    batch: int,
    head: int,
    rows: slice,
    keys: int | None = None,
) -> OracleRows:
    """Attention in float64 for ``rows`` of one head over its first ``keys`` keys (all by default).

    Memory is rows x keys, so that a row block of any length can be judged while it runs.
    """
    cols = slice(0, problem.kv_len if keys is None else min(keys, problem.kv_len))
    kv_head = head // problem.group
    scores = _scores(problem, q[batch, head], k[batch, kv_head], batch, head, rows, cols)
    values = np.asarray(v[batch, kv_head, cols], np.float64)
    visible = min(masks.kv_length(problem, batch), cols.stop)
    values = np.where(np.arange(cols.stop)[:, None] < visible, values, 0.0)  # 0 x NaN past the end would be NaN
    m = scores.max(axis=1, initial=-np.inf)
    p = np.exp(scores - _origin(m)[:, None])
    total = p.sum(axis=1)
    unseen = total == 0.0
    divisor = np.where(unseen, 1.0, total)
    o = p @ values / divisor[:, None]
    o[unseen] = empty_row(problem, values[:visible])
    return OracleRows(scores, m, total, o, np.where(unseen, -np.inf, m + np.log(divisor)))


def empty_row(problem: AttentionProblem, values: np.ndarray) -> np.ndarray:
    """float64 (head_dim,): what a row that sees no key gives. values: (keys, head_dim) of its batch element."""
    if problem.empty_rows == "nan":
        return np.full(values.shape[1], np.nan)
    if problem.empty_rows == "mean-v" and len(values):
        return values.mean(axis=0)
    return np.zeros(values.shape[1])


def _origin(m: np.ndarray) -> np.ndarray:
    """What scores are measured from: the maximum, or 0 where it is -inf and a difference would be NaN."""
    return np.where(m == -np.inf, 0.0, m)


def _scores(
    problem: AttentionProblem, q: np.ndarray, k: np.ndarray, batch: int, head: int, rows: slice, cols: slice
) -> np.ndarray:
    """float64 (rows, cols): scale, softcap, bias, then -inf where masked."""
    s = np.asarray(q[rows], np.float64) @ np.asarray(k[cols], np.float64).T * problem.scale_in_force
    if problem.softcap is not None:
        s = problem.softcap * np.tanh(s / problem.softcap)
    if problem.bias is not None:
        part = masks.of_head(problem.bias, batch, head)
        s = s + part[rows if part.shape[0] > 1 else slice(None), cols if part.shape[1] > 1 else slice(None)]
    return np.where(masks.allowed(problem, batch, head, rows, cols), s, -np.inf)


def naive(problem: AttentionProblem) -> Callable[[Any, Any, Any], tuple[Any, Any, Any, Any]]:
    """``f(q, k, v) -> (o, lse, s, p)`` in XLA, jit-traceable, with all of S and P in memory (float32)."""
    from kernels.naive import naive_attention

    return lambda q, k, v: naive_attention(problem, q, k, v)
