"""Index maps: which block each grid step has in VMEM."""

import numpy as np

from kernels import masks
from kernels.flash import tiles
from kernels.flash.block_sizes import BlockSizes
from kernels.flash.kernel import KernelPlan
from kernels.flash.specs import IndexMaps
from kernels.problem import AttentionProblem


def test_all_operands_along_the_keys_have_the_same_block():
    """A skipped tile moves none of them: not K and V, nor ids, mask and bias."""
    ids = np.arange(8)[None] // 2
    segments = {"q_segment_ids": ids, "kv_segment_ids": ids}
    problem = AttentionProblem(q_len=8, kv_len=8, head_dim=4, heads=6, kv_heads=2, **segments)
    blocks = BlockSizes(2, 2)
    plan = KernelPlan(problem, blocks, tiles.tile_table(problem, blocks))
    maps, table, states = IndexMaps(plan), plan.table.flat, masks.tile_states(problem, blocks)
    assert np.count_nonzero(states == masks.SKIPPED) == 6 * 12
    for i, j in np.ndindex(4, 4):
        for h in (0, 5):
            assert maps.q(0, h, i, j, table, None) == (0, h, i, 0)
            assert maps.q_ids(0, h, i, j, table, None) == (0, i, 0)
            assert maps.kv_ids(0, h, i, j, table, None) == (0, 0, i)  # the diagonal tile is the only one computed
            assert maps.pairs([False, True, True, True])(0, h, i, j, table, None) == (0, h, i, i)
            assert maps.pairs([True, False, False, True])(0, h, i, j, table, None) == (0, 0, 0, i)
        assert maps.fetched(0, 0, i, j, table) == i


def test_query_heads_of_a_group_name_one_kv_head():
    problem = AttentionProblem(q_len=8, kv_len=8, head_dim=4, heads=6, kv_heads=2)
    plan = KernelPlan(problem, BlockSizes(4, 4), tiles.tile_table(problem, BlockSizes(4, 4)))
    maps = IndexMaps(plan)
    found = [int(maps.kv(0, h, 0, 1, plan.table.flat, None)[1]) for h in range(6)]
    assert found == [0, 0, 0, 1, 1, 1]
