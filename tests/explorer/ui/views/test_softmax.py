import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt

from explorer.ui.views import SoftmaxView
from explorer.ui.views.shown import shown_softmax
from explorer.ui.views.softmax_model import bars, nice_range


@pytest.fixture
def view(qtbot, scene):
    view = SoftmaxView()
    qtbot.addWidget(view)
    view.resize(330, 200)
    view.show_state(scene.state(3, row=20))
    return view


def test_one_bar_a_row_where_there_is_room(scene):
    softmax = scene.softmax(1, 1)
    found = bars(shown_softmax(softmax, 5), 100)
    assert found.rows_each == 1
    np.testing.assert_array_equal(found.m, softmax.m_after)
    np.testing.assert_allclose(found.kept + found.added, softmax.l_after, rtol=1e-6)


def test_more_rows_than_bars_show_extremes(scenes):
    softmax = scenes(q_len=64, kv_len=64, block_q=64, block_kv=32, causal=False).softmax(0, 1)
    found = bars(shown_softmax(softmax, 5), 20)
    assert found.rows_each == 4
    np.testing.assert_array_equal(found.m, softmax.m_after.reshape(16, 4).max(axis=1))
    np.testing.assert_array_equal(found.alpha, softmax.alpha.reshape(16, 4).min(axis=1))
    np.testing.assert_allclose(found.kept + found.added, softmax.l_after.reshape(16, 4).max(axis=1), rtol=1e-6)


def test_rows_without_keys_and_wrong_rows_are_told_apart(scene):
    softmax = scene.softmax(0, 0)
    m = softmax.m_after.copy()
    m[2], m[3] = -np.inf, np.nan
    found = bars(shown_softmax(msgspec.structs.replace(softmax, m_after=m), 5), 100)
    assert np.flatnonzero(found.unseen).tolist() == [2]
    assert np.flatnonzero(found.wrong).tolist() == [3]


@pytest.mark.parametrize(
    ("values", "from_zero", "expected"),
    [
        ([2.3, 6.7], False, (2.0, 8.0)),
        ([0.0, 7.2], True, (0.0, 8.0)),
        ([5.0], False, (4.5, 5.5)),
        ([np.nan, -np.inf], False, (0.0, 1.0)),
        ([-1e4, 3e4], False, (-2e4, 4e4)),
    ],
)
def test_axes_have_round_ends_around_the_values(values, from_zero, expected):
    low, high = nice_range(np.array(values), from_zero=from_zero)
    assert (low, high) == pytest.approx(expected)


def test_a_click_selects_the_row_of_the_bar(qtbot, view, paint):
    paint(view, on_screen=True)
    plots, _ = view._plots
    for row in (16, 21, 31):
        x = plots.left() + (row - 16 + 0.5) / 16 * plots.width()
        with qtbot.waitSignal(view.row_selected) as chosen:
            qtbot.mouseClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, QPoint(round(x), 60))
        assert chosen.args == [row]


def test_keys_select_the_next_row_within_the_block(qtbot, view, scene):
    for row, key, expected in ((20, Qt.Key.Key_Right, 21), (31, Qt.Key.Key_Right, 31), (None, Qt.Key.Key_Left, 16)):
        view.show_state(scene.state(3, row=row))
        with qtbot.waitSignal(view.row_selected) as chosen:
            qtbot.keyClick(view, key)
        assert chosen.args == [expected]


def test_sentences(view, scene):
    softmax = scene.softmax(1, 1)
    rose = int((softmax.m_after > softmax.m_before).sum())
    smallest = softmax.alpha.min()
    assert view.sentence() == f"Rows 16–31 of q block 1: m rose in {rose} of 16 rows, the smallest α is {smallest:.3g}."
    view.show_state(scene.state(0))
    assert view.sentence() == "Rows 0–15 of q block 0: these are the first keys of all 16 rows."
    view.show_state(scene.state(3, stage=2))
    assert view.sentence() == "Rows 16–31 of q block 1 before this tile's scores: m and l as the step found them."
    view.show_state(scene.state(1))
    assert view.sentence() == "Rows 0–15 of q block 0: the tile is skipped, so m and l stay as they were."


def test_a_kernel_without_names_says_where_to_look(view, scene):
    view.show_state(scene.state(3, softmax=None))
    assert "by source line" in view.sentence()


def test_wrong_rows_are_crossed_in_red(view, scene, paint):
    def reds():
        image, _ = paint(view)
        pixels = (image.pixelColor(x, y).name() for x in range(330) for y in range(200))
        return sum(name == view.theme.wrong for name in pixels)

    assert reds() == 0, "red is only for wrong"
    softmax = scene.softmax(1, 1)
    m = softmax.m_after.copy()
    m[4] = np.nan
    view.show_state(scene.state(3, softmax=msgspec.structs.replace(softmax, m_after=m)))
    assert reds() > 10
