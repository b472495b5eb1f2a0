"""What the flash kernel's grid brings into VMEM at each step: block specs and the index maps behind them.

Index maps give block numbers, not elements: block i of length n begins at element i * n.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import jax.numpy as jnp
import numpy as np
from jax import lax
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from kernels.flash import tiles
from kernels.flash.kernel import LANES, KernelPlan


@dataclass(frozen=True, eq=False)
class IndexMaps:
    """From a grid step (batch b, head h, q block i, kv block j) to the block of each operand."""

    plan: KernelPlan

    def fetched(self, b, h, i, j, table_ref) -> Any:
        """The kv block to have in VMEM: the step's own, or for a skipped tile its neighbour's."""
        return table_ref[self.plan.table.position(b, h, i, j)] >> tiles.FETCH_SHIFT

    def q(self, b, h, i, j, table_ref, lengths_ref) -> tuple:
        """Q, O and LSE: the same block for all steps of a row block."""
        return b, h, i, 0

    def kv(self, b, h, i, j, table_ref, lengths_ref) -> tuple:
        """K and V: query heads of a group name the same kv head, so that nothing is repeated in memory."""
        group = self.plan.problem.group
        kv_head = h if group == 1 else lax.div(h, group)  # // would also handle signs, which head numbers lack
        return b, kv_head, self.fetched(b, h, i, j, table_ref), 0

    def q_ids(self, b, h, i, j, table_ref, lengths_ref) -> tuple:
        return b, i, 0

    def kv_ids(self, b, h, i, j, table_ref, lengths_ref) -> tuple:
        return b, 0, self.fetched(b, h, i, j, table_ref)

    def pairs(self, wide: list[bool]) -> Callable[..., tuple]:
        """For a 4-D array, with block 0 in the dimensions that are not ``wide``: those of length 1, seen by all."""

        def index_map(b, h, i, j, table_ref, lengths_ref):
            full = (b, h, i, self.fetched(b, h, i, j, table_ref))
            return tuple(index if many else 0 for index, many in zip(full, wide, strict=True))

        return index_map


def grid_spec(plan: KernelPlan) -> pltpu.PrefetchScalarGridSpec:
    """Grid, blocks and scratch. Scalars first: the tile table and the kv lengths, in SMEM before the first step."""
    problem, blocks, maps = plan.problem, plan.blocks, IndexMaps(plan)
    rows = pl.BlockSpec((None, None, blocks.block_q, problem.head_dim), maps.q)
    return pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=2,
        grid=(problem.batch, problem.heads, *blocks.counts(problem)),
        in_specs=(rows, *_kv_specs(plan, maps), *_mask_specs(plan, maps)),
        out_specs=(rows, pl.BlockSpec((None, None, blocks.block_q, 1), maps.q)),
        scratch_shapes=(
            pltpu.VMEM((blocks.block_q, LANES), jnp.float32),
            pltpu.VMEM((blocks.block_q, LANES), jnp.float32),
            pltpu.VMEM((blocks.block_q, problem.head_dim), jnp.float32),
        ),
    )


def _kv_specs(plan: KernelPlan, maps: IndexMaps) -> tuple[pl.BlockSpec, pl.BlockSpec]:
    spec = pl.BlockSpec((None, None, plan.blocks.block_kv, plan.problem.head_dim), maps.kv)
    return spec, spec


def _mask_specs(plan: KernelPlan, maps: IndexMaps) -> tuple[pl.BlockSpec | None, ...]:
    """Query ids (a column), key ids (a row), mask and bias; None for what the problem has not."""
    problem, blocks = plan.problem, plan.blocks
    ids: tuple[pl.BlockSpec | None, ...] = (None, None)
    if problem.q_segment_ids is not None:
        ids = (
            pl.BlockSpec((None, blocks.block_q, 1), maps.q_ids),
            pl.BlockSpec((None, 1, blocks.block_kv), maps.kv_ids),
        )
    return *ids, _pair_spec(problem.mask, plan, maps), _pair_spec(problem.bias, plan, maps)


def _pair_spec(array: np.ndarray | None, plan: KernelPlan, maps: IndexMaps) -> pl.BlockSpec | None:
    if array is None:
        return None
    wide = [length > 1 for length in array.shape]
    rows, cols = plan.blocks.block_q if wide[2] else 1, plan.blocks.block_kv if wide[3] else 1
    return pl.BlockSpec((None, None, rows, cols), maps.pairs(wide))
