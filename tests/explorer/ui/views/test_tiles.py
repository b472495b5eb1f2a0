import numpy as np
from hypothesis import given, strategies as st

from explorer.ui.views.tiles import CURRENT, DONE, NO_STEP, SKIPPED, TO_COME, TileMap, runs


def test_steps_of_tiles_follow_the_grid_order(scenes):
    scene = scenes(q_len=48, kv_len=48)
    tiles = TileMap.of(scene.configured, 0, 0)
    np.testing.assert_array_equal(tiles.steps, np.arange(9).reshape(3, 3))
    assert tiles.step_of(20, 3) == 3
    assert tiles.step_of(0, 47) == NO_STEP


def test_progress_before_at_and_after_a_tile(scenes):
    tiles = TileMap.of(scenes(q_len=48, kv_len=48).configured, 0, 0)
    expected = [[DONE, SKIPPED, SKIPPED], [DONE, CURRENT, SKIPPED], [TO_COME, TO_COME, TO_COME]]
    np.testing.assert_array_equal(tiles.progress(4, current_done=True), expected)
    expected[1][1] = TO_COME
    np.testing.assert_array_equal(tiles.progress(4, current_done=False), expected)
    assert tiles.progress(5, current_done=True)[1, 2] == SKIPPED


def test_ranges_end_at_the_lengths(scenes):
    tiles = TileMap.of(scenes(q_len=37, kv_len=50, causal=False).configured, 0, 0)
    assert tiles.rows_of(2) == (32, 37)
    assert tiles.columns_of(3) == (48, 50)
    rows, columns = tiles.edges()
    assert rows.tolist() == [0, 16, 32, 37]
    assert columns.tolist() == [0, 16, 32, 48, 50]


@given(st.integers(1, 6), st.integers(1, 6), st.integers(0, 2**36 - 1))
def test_runs_cover_a_mask_exactly_once(height, width, bits):
    mask = np.array([[bits >> (row * 6 + column) & 1 for column in range(width)] for row in range(height)], bool)
    cover = np.zeros(mask.shape, int)
    for top, bottom, left, right in runs(mask):
        cover[top:bottom, left:right] += 1
    np.testing.assert_array_equal(cover, mask)
