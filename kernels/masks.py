"""Which (query, key) pairs may meet, and which tiles that leaves to compute. NumPy only.

One rule serves everywhere: ``position_rule`` and ``segment_rule`` use nothing but operators, so that NumPy, XLA and the
Pallas kernel apply the same lines to their own arrays.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

SKIPPED, PARTIAL, FULL = 0, 1, 2
"""States of a tile: no pair allowed, some pairs, every pair."""


def band(problem: AttentionProblem) -> tuple[int | None, int | None]:
    """(lowest, highest) allowed ``key - query``, None where unbounded: causal and window are one diagonal band."""
    left, right = problem.window or (None, None)
    lowest = None if left is None else problem.shift - left
    bounds = ([problem.shift] if problem.causal else []) + ([] if right is None else [problem.shift + right])
    return lowest, min(bounds, default=None)


def position_rule(problem: AttentionProblem, rows: Any, cols: Any) -> Any:
    """bool, rows and cols broadcast: pairs that causal and window allow. None where neither is set.

    rows, cols: query and key numbers, integer arrays of NumPy or JAX that broadcast against each other.
    """
    lowest, highest = band(problem)
    seen = None if lowest is None else cols - rows >= lowest
    if highest is None:
        return seen
    below = cols - rows <= highest
    return below if seen is None else seen & below


def segment_rule(q_ids: Any, kv_ids: Any, padding_id: int | None) -> Any:
    """bool, ids broadcast: pairs of one segment; padding meets nothing, not even padding."""
    same = q_ids == kv_ids
    return same if padding_id is None else same & (q_ids != padding_id)


def kv_length(problem: AttentionProblem, batch: int) -> int:
    """Number of keys of a batch element that may be seen at all."""
    return problem.kv_len if problem.kv_lengths is None else int(problem.kv_lengths[batch])


def of_head(array: np.ndarray, batch: int, head: int) -> np.ndarray:
    """The (1 or q_len, 1 or kv_len) part of a 4-D broadcastable array that belongs to one head."""
    return array[batch if array.shape[0] > 1 else 0, head if array.shape[1] > 1 else 0]


def allowed(problem: AttentionProblem, batch: int, head: int, rows: slice, cols: slice) -> np.ndarray:
    """bool (rows, cols): the pairs of one head that may meet, for a slice of queries and a slice of keys."""
    row = np.arange(*rows.indices(problem.q_len))[:, None]
    col = np.arange(*cols.indices(problem.kv_len))[None, :]
    seen = np.broadcast_to(col < kv_length(problem, batch), (row.size, col.size))
    by_position = position_rule(problem, row, col)
    if by_position is not None:
        seen = seen & by_position
    if problem.q_segment_ids is not None and problem.kv_segment_ids is not None:
        q_ids, kv_ids = problem.q_segment_ids[batch][row], problem.kv_segment_ids[batch][col]
        seen = seen & segment_rule(q_ids, kv_ids, problem.padding_id)
    if problem.mask is not None:
        part = of_head(problem.mask, batch, head)
        seen = seen & part[rows if part.shape[0] > 1 else slice(None), cols if part.shape[1] > 1 else slice(None)]
    return np.array(seen)


def tile_states(problem: AttentionProblem, blocks: BlockSizes) -> np.ndarray:
    """int8 (batch, heads, q blocks, kv blocks): 0 skipped, 1 partly masked, 2 full. Only real pairs count.

    Causal, window and kv lengths are arithmetic on block bounds; segments and arrays go block by block. Where two
    kinds are partial in one tile, that tile alone is looked at pair by pair, so that a tile is skipped exactly
    when it holds no allowed pair. A read-only view where heads or batch elements share states.
    """
    blocks = blocks.clamped(problem)
    batches, heads = distinct_heads(problem)
    states = np.stack([[_head_states(problem, blocks, b, h) for h in range(heads)] for b in range(batches)])
    return np.broadcast_to(states, (problem.batch, problem.heads, *blocks.counts(problem)))


def distinct_heads(problem: AttentionProblem) -> tuple[int, int]:
    """(batch elements, heads) whose masks differ: 1 where all share one."""
    by_batch = problem.kv_lengths is not None or problem.q_segment_ids is not None
    rows, heads = (1, 1) if problem.mask is None else problem.mask.shape[:2]
    return problem.batch if by_batch else rows, heads


def _head_states(problem: AttentionProblem, blocks: BlockSizes, batch: int, head: int) -> np.ndarray:
    """int8 (q blocks, kv blocks) of one head: the least of its parts' states, settled pair by pair where unsure."""
    parts = [_position_states(problem, blocks, batch)]
    if problem.mask is not None:
        parts.append(_array_states(of_head(problem.mask, batch, head), problem, blocks))
    doubt = sum((part == PARTIAL).astype(np.int8) for part in parts)
    if problem.q_segment_ids is not None:
        parts.append(_segment_states(problem, blocks, batch))
        doubt = doubt + 2 * (parts[-1] == PARTIAL)  # overlapping ranges of ids need not share an id
    states = np.minimum.reduce(parts)
    unsure = (states == PARTIAL) & (doubt > 1)  # two partial parts may have no pair in common
    for i, j in np.argwhere(unsure):
        pairs = allowed(problem, batch, head, *tile_slices(problem, blocks, int(i), int(j)))
        states[i, j] = FULL if pairs.all() else PARTIAL if pairs.any() else SKIPPED
    return states


def empty_rows(problem: AttentionProblem) -> np.ndarray:
    """bool (batch, heads, q_len): rows left without a key, a bias of -inf hiding pairs like a mask.

    A read-only view where heads share it.
    """
    problem = _bias_as_mask(problem)
    blocks = BlockSizes(256, 256).clamped(problem)
    batches, heads = distinct_heads(problem)
    states = tile_states(problem, blocks)
    empty = np.ones((batches, heads, problem.q_len), bool)
    for b, h, i, j in np.argwhere(states[:batches, :heads] != SKIPPED):
        rows, cols = tile_slices(problem, blocks, int(i), int(j))
        if empty[b, h, rows].any():
            full = states[b, h, i, j] == FULL
            empty[b, h, rows] &= False if full else ~allowed(problem, int(b), int(h), rows, cols).any(axis=1)
    return np.broadcast_to(empty, (problem.batch, problem.heads, problem.q_len))


def _bias_as_mask(problem: AttentionProblem) -> AttentionProblem:
    """The problem with a bias of -inf, where there is any, as part of its mask array."""
    if problem.bias is None or not np.isneginf(problem.bias).any():
        return problem
    shown = ~np.isneginf(problem.bias)
    return problem.replace(bias=None, mask=shown if problem.mask is None else shown & problem.mask)


def tile_slices(problem: AttentionProblem, blocks: BlockSizes, q_block: int, kv_block: int) -> tuple[slice, slice]:
    """Queries and keys of a tile, without what lies past the sequences' ends."""
    row, col = q_block * blocks.block_q, kv_block * blocks.block_kv
    return (
        slice(row, min(row + blocks.block_q, problem.q_len)),
        slice(col, min(col + blocks.block_kv, problem.kv_len)),
    )


def _bounds(length: int, block: int) -> tuple[np.ndarray, np.ndarray]:
    """First element and one past the last of every block."""
    starts = np.arange(0, length, block)
    return starts, np.minimum(starts + block, length)


def _position_states(problem: AttentionProblem, blocks: BlockSizes, batch: int) -> np.ndarray:
    """int8 (q blocks, kv blocks): a tile's ``key - query`` is one range of integers, held against the band."""
    row_start, row_stop = (x[:, None] for x in _bounds(problem.q_len, blocks.block_q))
    col_start, col_stop = (x[None, :] for x in _bounds(problem.kv_len, blocks.block_kv))
    visible_stop = np.minimum(col_stop, kv_length(problem, batch))
    smallest = col_start - (row_stop - 1)
    lowest, highest = band(problem)
    some = np.broadcast_to(visible_stop > col_start, smallest.shape)
    every = np.broadcast_to(visible_stop == col_stop, smallest.shape)
    if lowest is not None:
        some = some & (visible_stop - 1 - row_start >= lowest)
        every = every & (smallest >= lowest)
    if highest is not None:
        some = some & (smallest <= highest)
        every = every & (col_stop - 1 - row_start <= highest)
    return np.where(some, np.where(every, FULL, PARTIAL), SKIPPED).astype(np.int8)


def _segment_states(problem: AttentionProblem, blocks: BlockSizes, batch: int) -> np.ndarray:
    """int8 (q blocks, kv blocks) from the smallest and largest id of each block; overlapping ranges are PARTIAL."""
    assert problem.q_segment_ids is not None
    assert problem.kv_segment_ids is not None
    q_low, q_high, q_padded = _id_ranges(problem.q_segment_ids[batch], blocks.block_q, problem.padding_id)
    k_low, k_high, k_padded = _id_ranges(problem.kv_segment_ids[batch], blocks.block_kv, problem.padding_id)
    some = (q_low[:, None] <= k_high) & (k_low <= q_high[:, None])
    one_id = (q_low == q_high)[:, None] & (k_low == k_high) & (q_low[:, None] == k_low)
    every = one_id & ~q_padded[:, None] & ~k_padded
    return np.where(some, np.where(every, FULL, PARTIAL), SKIPPED).astype(np.int8)


def _id_ranges(ids: np.ndarray, block: int, padding_id: int | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Smallest and largest id of each block without padding (an empty range where all is), and whether it has any."""
    starts = np.arange(0, ids.size, block)
    padded = np.zeros(ids.size, bool) if padding_id is None else ids == padding_id
    wide = ids.astype(np.int64)
    low = np.minimum.reduceat(np.where(padded, np.iinfo(np.int64).max, wide), starts)
    high = np.maximum.reduceat(np.where(padded, np.iinfo(np.int64).min, wide), starts)
    return low, high, np.logical_or.reduceat(padded, starts)


def _array_states(part: np.ndarray, problem: AttentionProblem, blocks: BlockSizes) -> np.ndarray:
    """int8 (q blocks, kv blocks) of a (1 or q_len, 1 or kv_len) boolean array; dimensions of 1 stand for all."""
    row_starts = _bounds(part.shape[0], blocks.block_q)[0]
    col_starts = _bounds(part.shape[1], blocks.block_kv)[0]
    some = np.logical_or.reduceat(np.logical_or.reduceat(part, row_starts, axis=0), col_starts, axis=1)
    every = np.logical_and.reduceat(np.logical_and.reduceat(part, row_starts, axis=0), col_starts, axis=1)
    states = np.where(some, np.where(every, FULL, PARTIAL), SKIPPED).astype(np.int8)
    return np.broadcast_to(states, blocks.counts(problem))
