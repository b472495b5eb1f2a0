from dataclasses import replace

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QPoint, QPointF, Qt
from PySide6.QtGui import QColor, QWheelEvent
from PySide6.QtWidgets import QApplication

from explorer.ui.theme import LIGHT
from explorer.ui.views import MatrixView
from explorer.ui.views.levels import Levels
from explorer.ui.views.matrix_geometry import whole
from explorer.ui.views.matrix_words import token_name

CTRL, NONE = Qt.KeyboardModifier.ControlModifier, Qt.KeyboardModifier.NoModifier
LEFT = Qt.MouseButton.LeftButton


@pytest.fixture
def view(qtbot, scene):
    view = MatrixView()
    qtbot.addWidget(view)
    view.resize(620, 420)
    view.show_state(scene.state(2))
    return view


def middle(view: MatrixView, row: int, column: int) -> QPoint:
    geometry = view.plan
    return QPointF(geometry.x_of(column + 0.5), geometry.y_of(row + 0.5)).toPoint()


def colour_at(paint, view: MatrixView, row: int, column: int) -> QColor:
    image, _ = paint(view, on_screen=True)
    return image.pixelColor(middle(view, row, column))


def test_cells_have_the_colour_of_their_value_at_the_fixed_levels(view, scene, paint):
    levels = Levels(1e-4, 1.0, "log")
    for row, column in ((3, 1), (9, 9), (19, 2)):
        expected = levels.colours(scene.probabilities[row, column : column + 1])[0]
        assert colour_at(paint, view, row, column).rgb() == expected


def test_masked_cells_are_never_coloured_as_values(view, paint):
    image, _ = paint(view, on_screen=True)
    box = view.plan.cells((0, 14), (20, 30)).toRect().adjusted(3, 3, -3, -3)
    found = {
        image.pixelColor(x, y).name() for x in range(box.left(), box.right()) for y in range(box.top(), box.bottom())
    }
    for name in found:
        assert QColor(name).saturation() < 40, "hatch and ground are greys"
    assert len(found) > 1, "the hatch shows"


def test_tiles_to_come_are_veiled_and_the_current_one_until_stage_3(view, scene, paint):
    full = Levels(1e-4, 1.0, "log").colours(scene.probabilities[20, 3:4])[0]
    assert colour_at(paint, view, 20, 3).rgb() == full
    assert colour_at(paint, view, 20, 17).lightness() > QColor(int(full)).lightness()
    view.show_state(scene.state(2, stage=2))
    assert colour_at(paint, view, 20, 3).rgb() != full
    view.show_state(scene.state(2, stage=3))
    assert colour_at(paint, view, 20, 3).rgb() == full


def test_flash_tiles_that_are_not_computed_are_blank_and_no_nan(view, scene, paint):
    view.show_state(scene.state(2, kind="flash-probabilities"))
    image, texts = paint(view, on_screen=True)
    assert "NaN" not in {placed.text for placed in texts}
    values = Levels(1e-4, 1.0, "log").colours(scene.probabilities[20, 3:4])[0]
    assert image.pixelColor(middle(view, 20, 3)).rgb() == values
    blank = image.pixelColor(middle(view, 25, 17))
    assert blank.saturation() < 40


@pytest.mark.parametrize("said", [True, False])
def test_a_matrix_older_than_the_snapshot_is_not_read_as_nan(view, scene, paint, said):
    newer, older = scene.state(3, kind="flash-probabilities"), scene.matrix("flash-probabilities", 2)
    view.show_state(replace(newer, matrix=older if said else msgspec.structs.replace(older, step=-1)))
    _, texts = paint(view, on_screen=True)
    assert "NaN" not in {placed.text for placed in texts}


def test_nan_and_inf_are_marked_and_explained(view, scene, paint):
    values = scene.probabilities.astype(np.float32)
    values[5, 2], values[6, 2], values[7, 2] = np.nan, np.inf, -np.inf
    state = scene.state(2)
    view.show_state(replace(state, matrix=msgspec.structs.replace(state.matrix, values=values)))
    image, texts = paint(view, on_screen=True)
    assert {"NaN", "+∞", "−∞"} <= {placed.text for placed in texts}
    box = view.plan.cells((5, 6), (2, 3)).toRect()
    names = {image.pixelColor(x, box.center().y()).name() for x in range(box.left() + 1, box.right())}
    assert names == {LIGHT.text, LIGHT.inverse}


def test_a_nan_output_is_said_in_red_words(view, scene, paint):
    output = scene.snapshot(2).output.copy()
    output[18] = np.nan
    error = np.where(np.arange(32) == 18, np.nan, 1e-7)
    view.show_state(scene.state(2, output=output, error_float64=error))
    _, texts = paint(view)
    assert "NaN" in {placed.text for placed in texts}


def test_click_selects_and_ctrl_or_double_click_goes(qtbot, view):
    with qtbot.waitSignal(view.cell_selected) as selected:
        qtbot.mouseClick(view, LEFT, NONE, middle(view, 20, 3))
    assert selected.args == [20, 3]
    with qtbot.waitSignal(view.step_requested) as went:
        qtbot.mouseClick(view, LEFT, CTRL, middle(view, 20, 17))
    assert went.args == [3]
    with qtbot.waitSignal(view.step_requested) as went:
        qtbot.mouseDClick(view, LEFT, NONE, middle(view, 2, 2))
    assert went.args == [0]


def test_a_skipped_tile_has_no_step_to_go_to(qtbot, view):
    with qtbot.assertNotEmitted(view.step_requested):
        qtbot.mouseClick(view, LEFT, CTRL, middle(view, 2, 25))


def test_strips_select_rows_and_keys(qtbot, view):
    geometry = view.plan
    with qtbot.waitSignal(view.row_selected) as row:
        qtbot.mouseClick(view, LEFT, NONE, QPoint(round(geometry.q.center().x()), middle(view, 7, 0).y()))
    assert row.args == [7]
    with qtbot.waitSignal(view.cell_selected) as cell:
        qtbot.mouseClick(view, LEFT, NONE, QPoint(middle(view, 0, 11).x(), round(geometry.k.center().y())))
    assert cell.args == [16, 11]


def test_arrows_move_the_selection_and_stop_at_the_edge(qtbot, view, scene):
    for key, row, column, expected in (
        (Qt.Key.Key_Down, 20, 3, [21, 3]),
        (Qt.Key.Key_Left, 20, 3, [20, 2]),
        (Qt.Key.Key_Up, 0, 3, [0, 3]),
        (Qt.Key.Key_Right, 20, 31, [20, 31]),
    ):
        view.show_state(scene.state(2, row=row, column=column))
        with qtbot.waitSignal(view.cell_selected) as moved:
            qtbot.keyClick(view, key)
        assert moved.args == expected
    with qtbot.waitSignal(view.step_requested) as went:
        qtbot.keyClick(view, Qt.Key.Key_Return)
    assert went.args == [3]


def test_zoom_keeps_the_cell_under_the_pointer_and_has_limits(qtbot, view):
    point = middle(view, 20, 3)
    for _ in range(30):
        at = QPointF(point)
        turn = QWheelEvent(
            at, view.mapToGlobal(at), QPoint(), QPoint(0, 120), Qt.MouseButton.NoButton, NONE,
            Qt.ScrollPhase.NoScrollPhase, False,
        )  # fmt: skip
        before = view.cell_at(at)
        QApplication.sendEvent(view, turn)
        assert view.cell_at(at) == before or view.plan.row_tokens, "labels that come in may move the picture"
    window = view.plan.window
    assert window.rows == window.columns == 4
    qtbot.keyClick(view, Qt.Key.Key_0)
    assert view.plan.window == whole(32, 32)
    qtbot.keyClick(view, Qt.Key.Key_Plus)
    qtbot.keyClick(view, Qt.Key.Key_Minus)
    assert view.plan.window == whole(32, 32)


def test_dragging_pans_within_the_matrix_and_selects_nothing(qtbot, view):
    view.zoom(4.0, QPointF(middle(view, 16, 16)))
    before = view.plan.window
    start = view.plan.matrix.center().toPoint()
    with qtbot.assertNotEmitted(view.cell_selected):
        qtbot.mousePress(view, LEFT, NONE, start)
        qtbot.mouseMove(view, start + QPoint(40, 0))
        qtbot.mouseMove(view, start + QPoint(40, 30))
        qtbot.mouseRelease(view, LEFT, NONE, start + QPoint(40, 30))
    after = view.plan.window
    height, width = view.plan.cell_size
    assert after.column0 == pytest.approx(before.column0 - 40 / width)
    assert after.row0 == pytest.approx(before.row0 - 30 / height)


def test_tip_gives_the_exact_value_tokens_and_step(view, scene):
    tip = view.tip_at(QPointF(middle(view, 20, 3)))
    assert "query 20 “hangat”" in tip
    assert "key 3 “duduk”" in tip
    assert str(np.float32(scene.probabilities[20, 3])) in tip
    assert "computed in grid step 3" in tip
    assert "skipped" in view.tip_at(QPointF(middle(view, 2, 25)))
    assert "masked" in view.tip_at(QPointF(middle(view, 2, 5)))


def test_choosing_a_matrix_is_an_intent(qtbot, view, scene):
    with qtbot.waitSignal(view.matrix_kind_chosen) as chosen:
        qtbot.mouseClick(view.kinds.buttons["difference"], LEFT)
    assert chosen.args == ["difference"]
    view.show_state(scene.state(2, kind="naive-scores"))
    assert view.kinds.buttons["naive-scores"].isChecked()


def test_the_sentence_counts_tiles(view, scene):
    skipped = "the mask empties one, which is skipped."
    view.show_state(scene.state(2))
    assert view.sentence() == f"Query rows 16–31 meet keys 0–15. This is the second of 3 tiles; {skipped}"
    view.show_state(scene.state(3, stage=2))
    assert view.sentence() == (f"Query rows 16–31 meet keys 16–31. 2 tiles are done, this one is next of 3; {skipped}")


def test_the_sentence_gives_the_largest_score_of_the_selected_row(view, scene):
    view.show_state(scene.state(3, row=20))
    assert f"row 20 “hangat”, its largest score so far is {scene.scores[20].max():.3g}" in view.sentence()
    view.show_state(scene.state(1, row=3))
    assert "nothing is computed: 1 of 3 tiles" in view.sentence()


def test_nothing_is_repainted_where_nothing_changed(qtbot, view, scene):
    state = scene.state(2)
    view.show_state(state)
    calls = []
    view.update = lambda: calls.append(1)
    view.show_state(replace(state, playing=True, steps_per_second=9.0))
    assert calls == []
    view.show_state(scene.state(3))
    assert calls == [1]


def test_the_picture_is_kept_while_its_matrix_stays(view, scene, paint, monkeypatch):
    first = scene.state(2)
    view.show_state(first)
    paint(view, on_screen=True)
    monkeypatch.setattr("explorer.ui.views.matrix_picture.matrix_image", lambda *_: pytest.fail("painted again"))
    view.show_state(replace(scene.state(3), matrix=first.matrix, strips=first.strips))
    paint(view, on_screen=True)


def test_an_export_has_the_same_picture_as_the_screen(view, paint):
    screen, _ = paint(view, on_screen=True)
    export, texts = paint(view)
    assert "naive probabilities" in {placed.text for placed in texts}
    box = view.plan.matrix.toRect()
    as_array = [
        np.frombuffer(image.copy(box).constBits(), np.uint8).reshape(box.height(), -1, 4)[..., :3].astype(int)
        for image in (screen, export)
    ]
    assert (np.abs(as_array[0] - as_array[1]).max(axis=2) > 8).mean() < 0.01


def test_a_difference_is_known_once_its_rows_are_finished(view, scene, paint):
    for step, marked in ((2, False), (3, True)):
        state = scene.state(step, kind="difference")
        values = np.where(np.arange(32)[:, None] < 16, 0.0, np.nan) * np.ones(32)
        nan_below = msgspec.structs.replace(state.matrix, values=values.astype(np.float32))
        view.show_state(replace(state, matrix=nan_below))
        _, texts = paint(view, on_screen=True)
        assert ("NaN" in {placed.text for placed in texts}) == marked
        assert ("NaN" if marked else "not computed yet") in view.tip_at(QPointF(middle(view, 20, 3)))


def test_a_kernel_without_known_tiles_claims_nothing(view, scene, paint):
    order = np.full_like(scene.order, -1)
    state = scene.state(3, q_range=(0, 0), kv_range=(0, 0), q_block=-1, kv_block=-1, softmax=None, acc_after=None)
    view.show_state(replace(state, configured=msgspec.structs.replace(scene.configured, order=order), matrix=None))
    assert "which tile it works on is not known" in view.sentence()
    _, texts = paint(view)
    assert "There is no picture of this matrix yet." in {placed.text for placed in texts}


def test_pictures_of_pooled_matrices_lie_under_the_right_tiles(view, scene, paint):
    state = scene.state(3)
    pooled = scene.probabilities.reshape(16, 2, 16, 2).max(axis=(1, 3)).astype(np.float32)
    allowed = scene.allowed.reshape(16, 2, 16, 2).any(axis=(1, 3))
    matrix = msgspec.structs.replace(state.matrix, values=pooled, allowed=allowed, pool=2)
    view.show_state(replace(state, matrix=matrix))
    expected = Levels(1e-4, 1.0, "log").colours(pooled[10, 1:2])[0]
    assert colour_at(paint, view, 20, 3).rgb() == expected
    assert "(maximum of 2 × 2 pairs)" in view.tip_at(QPointF(middle(view, 20, 3)))
    assert "Each cell is the maximum of 2 × 2 pairs." in view.sentence()


def test_parts_of_another_problem_are_not_drawn(view, scene, scenes, paint):
    other = scenes(q_len=48, kv_len=48)
    mixed = replace(scene.state(3), matrix=other.matrix(), strips=other.state(0).strips)
    view.show_state(mixed)
    _, texts = paint(view)
    assert "There is no picture of this matrix yet." in {placed.text for placed in texts}
    view.show_state(replace(mixed, configured=other.configured))
    assert view.sentence() == "Waiting for the first grid step."


def test_tokens_that_look_like_markup_or_cannot_be_seen(view, scene, scenes):
    assert "“\\n”" in token_name(("\n",), 0)
    state = scene.state(2)
    view.show_state(replace(state, inputs=replace(state.inputs, q_tokens=("<s>",) * 32)))
    assert "query 20 “<s>”" in view.tip_at(QPointF(middle(view, 20, 3)))
