"""Which grid step works on which tile of a head, and how the tiles stand at a step. No Qt."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from explorer.link.messages import Configured, Matrix

SKIPPED, TO_COME, DONE, CURRENT = 0, 1, 2, 3
NO_STEP = -1
FLASH_KINDS = frozenset({"flash-probabilities", "difference"})


@dataclass(frozen=True)
class TileMap:
    """Tiles of one head: ``steps`` int32 (q blocks, kv blocks), ``NO_STEP`` where no step works on a tile; ``states``
    int8 as in ``Configured.tile_states``; block sizes and lengths in tokens.
    """

    steps: np.ndarray
    states: np.ndarray
    block_q: int
    block_kv: int
    q_len: int
    kv_len: int

    @classmethod
    def of(cls, configured: Configured, batch: int, head: int) -> TileMap:
        states = configured.tile_states[batch, head]
        steps = np.full(states.shape, NO_STEP, np.int32)
        order = configured.order
        mine = np.flatnonzero((order[:, 0] == batch) & (order[:, 1] == head) & (order[:, 2:] >= 0).all(axis=1))
        steps[order[mine, 2], order[mine, 3]] = mine
        problem, blocks = configured.problem, configured.blocks
        return cls(steps, states, blocks.block_q, blocks.block_kv, problem.q_len, problem.kv_len)

    def tile_of(self, row: int, column: int) -> tuple[int, int]:
        """(q block, kv block) that a query and a key lie in."""
        return row // self.block_q, column // self.block_kv

    def step_of(self, row: int, column: int) -> int:
        """Grid step that computes a cell; ``NO_STEP`` where the mask empties its tile or no step is known."""
        tile = self.tile_of(row, column)
        return NO_STEP if self.states[tile] == 0 else int(self.steps[tile])

    def progress(self, step: int, current_done: bool) -> np.ndarray:
        """int8 (q blocks, kv blocks) of SKIPPED, TO_COME, DONE, CURRENT at a step."""
        result = np.full(self.states.shape, TO_COME, np.int8)
        result[(self.steps != NO_STEP) & (self.steps < step)] = DONE
        result[self.states == 0] = SKIPPED
        result[self.steps == step] = CURRENT if self.states[self.steps == step].any() else SKIPPED
        if not current_done:
            result[result == CURRENT] = TO_COME
        return result

    def rows_of(self, q_block: int) -> tuple[int, int]:
        start = q_block * self.block_q
        return start, min(start + self.block_q, self.q_len)

    def columns_of(self, kv_block: int) -> tuple[int, int]:
        start = kv_block * self.block_kv
        return start, min(start + self.block_kv, self.kv_len)

    def edges(self) -> tuple[np.ndarray, np.ndarray]:
        """Token positions of the tile borders: rows and columns, both with the ends of the matrix."""
        rows = np.minimum(np.arange(self.states.shape[0] + 1) * self.block_q, self.q_len)
        columns = np.minimum(np.arange(self.states.shape[1] + 1) * self.block_kv, self.kv_len)
        return rows, columns


def runs(mask: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Rectangles (first row, past the last row, first column, past the last column) that cover the True cells of a
    2-D mask: neighbours in a row together, and rows that are alike together.
    """
    found: list[tuple[int, int, int, int]] = []
    starts = np.concatenate(([0], np.flatnonzero((mask[1:] != mask[:-1]).any(axis=1)) + 1, [len(mask)]))
    for top, bottom in pairwise(starts):
        change = np.flatnonzero(np.diff(np.concatenate(([False], mask[top], [False])).astype(np.int8)))
        found += [(int(top), int(bottom), int(a), int(b)) for a, b in zip(change[::2], change[1::2], strict=True)]
    return found


def known_tiles(matrix: Matrix, tiles: TileMap, step: int, current_done: bool) -> np.ndarray | None:
    """bool (q blocks, kv blocks): tiles whose values the picture has by ``step``; None where it has all."""
    if matrix.kind not in FLASH_KINDS:
        return None
    last = step if matrix.step < 0 else min(step, matrix.step)
    progress = tiles.progress(last, current_done or last < step)
    done = (progress == DONE) | (progress == CURRENT)
    if matrix.step < 0:
        # it may be older than the snapshot beside it: a tile of NaN alone is then one that had not been computed
        done &= _tiles_with_numbers(matrix, tiles)
    if matrix.kind == "difference":
        # P can be normalised, and so compared, once its row is finished
        done &= ~((tiles.states != 0) & ~done).any(axis=1, keepdims=True)
    return done


def _tiles_with_numbers(matrix: Matrix, tiles: TileMap) -> np.ndarray:
    """bool (q blocks, kv blocks): tiles with at least one cell that is not NaN."""
    starts = [edges[:-1] // matrix.pool for edges in tiles.edges()]
    numbers = np.logical_or.reduceat(~np.isnan(matrix.values), starts[0], axis=0)
    return np.logical_or.reduceat(numbers, starts[1], axis=1)
