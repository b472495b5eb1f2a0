"""The packed table: every tile once, first and last step of each row block, and nothing loaded for skipped tiles."""

import numpy as np
import pytest

from kernels import masks
from kernels.flash import tiles
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


def unpack(problem, blocks):
    """states, starts, ends, fetched of the table, each (batch or 1, heads or 1, q blocks, kv blocks)."""
    table = tiles.tile_table(problem, blocks)
    packed = table.flat.reshape(table.shape)
    return (
        packed & tiles.STATE_MASK,
        (packed & tiles.STARTS_ROW_BLOCK) > 0,
        (packed & tiles.ENDS_ROW_BLOCK) > 0,
        packed >> tiles.FETCH_SHIFT,
    )


def problem_of(seed):
    rng = np.random.default_rng(seed)
    holes = np.repeat(np.repeat(rng.random((2, 1, 8, 6)) < 0.3, 4, axis=2), 5, axis=3)
    return AttentionProblem(q_len=32, kv_len=30, head_dim=4, batch=2, heads=3, mask=holes), BlockSizes(4, 5)


@pytest.mark.parametrize("seed", range(8))
def test_a_row_block_starts_at_its_first_tile_and_ends_at_its_last(seed):
    problem, blocks = problem_of(seed)
    states, starts, ends, _ = unpack(problem, blocks)
    assert states.shape == (2, 1, 8, 6)  # heads share one mask
    np.testing.assert_array_equal(states, masks.tile_states(problem, blocks)[:, :1])
    assert (starts.sum(axis=-1) == 1).all()
    assert (ends.sum(axis=-1) == 1).all()
    for row in np.ndindex(states.shape[:3]):
        computed = np.flatnonzero(states[row])
        first, last = (computed[0], computed[-1]) if computed.size else (0, 0)
        assert starts[row][first]
        assert ends[row][last]


@pytest.mark.parametrize("seed", range(8))
def test_a_block_is_loaded_for_computed_tiles_only(seed):
    problem, blocks = problem_of(seed)
    states, _, _, fetched = unpack(problem, blocks)
    for b in range(2):
        state, fetch = states[b, 0].reshape(-1), fetched[b, 0].reshape(-1)
        own = np.tile(np.arange(6), 8)
        computed = state != masks.SKIPPED
        np.testing.assert_array_equal(fetch[computed], own[computed])
        loads = 1 + np.count_nonzero(np.diff(fetch))
        needed = own[computed]
        assert loads == 1 + np.count_nonzero(np.diff(needed))


def test_a_mask_that_hides_all_loads_one_block_and_still_ends_every_row_block():
    problem = AttentionProblem(q_len=16, kv_len=16, head_dim=4, mask=np.zeros((1, 1, 1, 1), bool))
    states, starts, ends, fetched = unpack(problem, BlockSizes(4, 4))
    assert not states.any()
    assert not fetched.any()
    np.testing.assert_array_equal(starts[0, 0, :, 0], True)
    np.testing.assert_array_equal(ends[0, 0, :, 0], True)


def test_the_ragged_last_block_counts_as_partial():
    problem = AttentionProblem(q_len=8, kv_len=10, head_dim=4)
    states, *_ = unpack(problem, BlockSizes(8, 4))
    np.testing.assert_array_equal(states[0, 0, 0], [masks.FULL, masks.FULL, masks.PARTIAL])
    assert (masks.tile_states(problem, BlockSizes(8, 4)) == masks.FULL).all()


def test_positions_follow_the_shape():
    for shape in [(1, 1, 3, 5), (2, 1, 3, 5), (1, 4, 3, 5), (2, 4, 3, 5)]:
        table = tiles.TileTable(np.zeros(0, np.int32), shape)
        for b, h, i, j in np.ndindex(2, 4, 3, 5):
            where = (min(b, shape[0] - 1), min(h, shape[1] - 1), i, j)
            assert table.position(b, h, i, j) == np.ravel_multi_index(where, shape)
