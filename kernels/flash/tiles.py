"""Stage 1, prepared: which tile each grid step works on, packed for the TPU's scalar memory. NumPy only.

One int32 per grid step of a head: bits 0 and 1 hold the tile's state (0 skipped, 1 partial, 2 full), bit 2 marks the
first step to run of a row block, bit 3 the last, and the bits above hold the kv block to have in VMEM. A skipped
step names the block its neighbour needs, so that nothing is copied for it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from kernels import masks
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

STATE_MASK = 0b0011
STARTS_ROW_BLOCK = 0b0100
ENDS_ROW_BLOCK = 0b1000
FETCH_SHIFT = 4


@dataclass(frozen=True, eq=False)
class TileTable:
    """The packed table. ``flat`` is int32, in the order of ``shape`` = (batch or 1, heads or 1, q blocks, kv blocks).

    One-dimensional because scalar memory pads the last dimension of anything else to 128 words.
    """

    flat: np.ndarray
    shape: tuple[int, int, int, int]

    def position(self, batch: Any, head: Any, q_block: Any, kv_block: Any) -> Any:
        """Where in ``flat`` a grid step's entry lies; for ints and for traced scalars alike."""
        batches, heads, q_blocks, kv_blocks = self.shape
        row = q_block
        if heads > 1:
            row = head * q_blocks + row
        if batches > 1:
            row = batch * (heads * q_blocks) + row
        return row * kv_blocks + kv_block


def tile_table(problem: AttentionProblem, blocks: BlockSizes) -> TileTable:
    """The table of a problem; batch elements and heads whose masks are the same share one part of it.

    A tile whose keys run past ``kv_len`` counts as partial here: its last rows hold nothing that may be used.
    """
    batches, heads = masks.distinct_heads(problem)
    states = masks.tile_states(problem, blocks)[:batches, :heads]
    if problem.kv_len % blocks.block_kv:
        ragged = states[..., -1:]
        states = np.concatenate([states[..., :-1], np.minimum(ragged, masks.PARTIAL)], axis=-1)
    entries = [[_head_entries(head) for head in batch] for batch in states]
    table = np.asarray(entries, np.int32)
    return TileTable(table.reshape(-1), (table.shape[0], table.shape[1], table.shape[2], table.shape[3]))


def _head_entries(states: np.ndarray) -> np.ndarray:
    """int32 (q blocks, kv blocks): packed entries of one head."""
    computed = states != masks.SKIPPED
    kv_blocks = states.shape[1]
    empty = ~computed.any(axis=1)
    first = np.where(empty, 0, computed.argmax(axis=1))  # an empty row block still starts and ends, at kv block 0
    last = np.where(empty, 0, kv_blocks - 1 - computed[:, ::-1].argmax(axis=1))
    column = np.arange(kv_blocks)
    entries = states.astype(np.int32) | (_fetched(computed, empty) << FETCH_SHIFT)
    entries |= np.where(column == first[:, None], STARTS_ROW_BLOCK, 0)
    entries |= np.where(column == last[:, None], ENDS_ROW_BLOCK, 0)
    return entries.astype(np.int32)


def _fetched(computed: np.ndarray, empty: np.ndarray) -> np.ndarray:
    """int32 (q blocks, kv blocks): the kv block in VMEM at each step.

    The next block to be computed in the row block; after the last, that one again. An empty row block keeps what the
    row block before it left (what the first one to compute needs, where none came before).
    """
    kv_blocks = computed.shape[1]
    column = np.where(computed, np.arange(kv_blocks), kv_blocks)
    upcoming = np.minimum.accumulate(column[:, ::-1], axis=1)[:, ::-1]
    last = np.where(computed, np.arange(kv_blocks), 0).max(axis=1)
    fetched = np.where(upcoming < kv_blocks, upcoming, last[:, None])
    if empty.all():
        return np.zeros_like(fetched, np.int32)
    full_rows = np.flatnonzero(~empty)
    before = np.searchsorted(full_rows, np.arange(len(empty)), side="right") - 1
    kept = np.where(before >= 0, last[full_rows[np.maximum(before, 0)]], fetched[full_rows[0], 0])
    return np.where(empty[:, None], kept[:, None], fetched).astype(np.int32)
