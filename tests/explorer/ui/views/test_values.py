import msgspec
import numpy as np
import pytest
from PySide6.QtCore import Qt

from explorer.ui.theme import DARK
from explorer.ui.views import ValuesView
from explorer.ui.views.recurrence import row_lines
from explorer.ui.views.values_table import COLUMNS, cell_text


@pytest.fixture
def view(qtbot, scene):
    view = ValuesView()
    qtbot.addWidget(view)
    view.resize(330, 190)
    view.show_state(scene.state(3, row=20))
    return view


def test_the_recurrence_of_a_row_adds_up(scene):
    lines = dict(row_lines(scene.state(3, row=20)))
    m0, l0, _ = (part[4] for part in scene.running(1, 16))
    m1, l1, _ = (part[4] for part in scene.running(1, 32))
    alpha = np.exp(m0 - m1)
    assert lines["m"] == f"{m0:+.4g} → {m1:+.4g}".replace("-", "−")
    assert lines["α"].endswith(f"= {alpha:.4f}")
    assert lines["l"] == f"{l0:.4g}·α + {l1 - alpha * l0:.4g} = {l1:.4g}"
    assert lines["acc"] == "acc·α + p·V[1]"
    assert lines["O"] == "acc/l, off float64 by 2.0e-07"


@pytest.mark.parametrize(("stage", "names"), [(2, "m α l acc"), (3, "m α l acc"), (4, "m α l acc  O")])
def test_lines_appear_with_their_stage(scene, stage, names):
    lines = row_lines(scene.state(3, stage=stage, row=20))
    assert " ".join(name for name, _ in lines) == names
    arrow = "→" in dict(lines)["m"]
    assert arrow == (stage >= 3)


def test_first_keys_come_from_minus_infinity(scene):
    lines = dict(row_lines(scene.state(0, row=3)))
    assert lines["m"].startswith("−∞ → ")
    assert lines["α"].startswith("exp(−∞ ")
    assert lines["α"].endswith("= 0.0000")


def test_a_low_view_keeps_the_lines_with_numbers(view, paint):
    """Whatever the system's font: the line without a number goes first, and m to the last."""
    heights = range(240, view.smallest[1] - 1, -2)
    shown = {height: [placed.text for placed in paint(view, (330, height))[1]] for height in heights}
    with_words = [height for height in heights if "acc·α + p·V[1]" in shown[height]]
    with_error = [height for height in heights if "acc/l, off float64 by 2.0e-07" in shown[height]]
    assert max(with_words) == max(with_error) == 240
    assert min(with_error) < min(with_words)
    assert min(with_words) > view.smallest[1]
    for height, texts in shown.items():
        assert {"row 20 “hangat”", "m"} <= set(texts)
        assert height < min(with_error) or "l" in texts


def test_pages(qtbot, view, scene):
    assert view.page == "row"
    assert not view.table.isVisibleTo(view)
    qtbot.mouseClick(view.tabs.buttons["values"], Qt.MouseButton.LeftButton)
    assert view.page == "values"
    assert view.table.isVisibleTo(view)
    assert view.model.rowCount() == 3
    view.show_state(scene.state(3, softmax=None))
    assert view.page == "values"
    assert not view.tabs.buttons["row"].isEnabled()


def test_a_kernel_without_names_opens_on_its_values(view, scene):
    view.show_state(scene.state(3, softmax=None))
    assert view.page == "values"


def test_table_cells(scene):
    first, _, third = scene.values()
    texts = [cell_text(first, column) for column in range(len(COLUMNS))]
    assert texts == ["S", "kernel.py:80", "-1.25", "2.50", "0", "16×16", "3"]
    assert [cell_text(third, column) for column in range(5)] == ["correction", "kernel.py:82", "–", "–", "–"]


def test_nan_is_red_and_an_infinity_is_not(view, scene):
    ends = {"minimum": np.nan, "maximum": np.nan}
    nan = msgspec.structs.replace(scene.values()[0], nonfinite=2, nans=2, **ends)
    masked = msgspec.structs.replace(scene.values()[1], nonfinite=256, **ends)
    view.show_page("values")
    view.show_state(scene.state(3, values=(masked, nan)))
    inks = [view.model.data(view.model.index(row, 4), Qt.ItemDataRole.ForegroundRole).name() for row in (0, 1)]
    assert inks == [view.theme.text, view.theme.wrong]
    assert cell_text(masked, 2) == "–"
    assert "The first NaN is in S, line 80." in view.sentence()
    view.show_state(scene.state(3, values=(masked,)))
    assert "No NaN; the first infinity is in P, line 81." in view.sentence()


def test_columns_are_wide_enough_for_their_texts(view):
    view.show_page("values")
    metrics = view.table.fontMetrics()
    for row in range(view.model.rowCount()):
        for column in range(len(COLUMNS)):
            text = view.model.data(view.model.index(row, column))
            assert view.table.columnWidth(column) > metrics.horizontalAdvance(text)


def test_the_table_keeps_its_place_from_step_to_step(view, scene, qtmodeltester):
    view.show_page("values")
    view.table.selectRow(1)
    view.show_state(scene.state(2))
    assert [index.row() for index in view.table.selectionModel().selectedRows()] == [1]
    qtmodeltester.check(view.model)


def test_dark_ground_under_the_table(view):
    view.set_theme(DARK)
    view.show_page("values")
    view.show()
    image = view.grab().toImage()
    assert image.pixelColor(image.width() - 4, image.height() - 14).name() == DARK.panel


def test_the_sentence_says_what_happened_to_the_row(view, scene):
    softmax = scene.softmax(1, 1)
    m0, m1 = (f"{part[4]:.4g}".replace("-", "−") for part in (softmax.m_before, softmax.m_after))
    rose = f"Row 20 “hangat”: m rose from {m0} to {m1}, so l and acc were scaled by {softmax.alpha[4]:.3f}"
    assert view.sentence().startswith(rose)
    still = int(np.flatnonzero(softmax.m_after == softmax.m_before)[0])
    view.show_state(scene.state(3, row=16 + still))
    assert f"m stayed at {softmax.m_after[still]:.4g}, so nothing was rescaled" in view.sentence()
    view.show_state(scene.state(3, row=20, stage=2))
    assert view.sentence().startswith(f"Row 20 “hangat”: m is {m0} and l ")
    view.show_state(scene.state(0, row=3))
    assert view.sentence().startswith("Row 3 “duduk” saw its first keys: m is now ")
    nothing = np.full(16, -np.inf, np.float32)
    view.show_state(scene.state(0, row=3, softmax=msgspec.structs.replace(scene.softmax(0, 0), m_after=nothing)))
    assert view.sentence() == "Row 3 “duduk” has seen no key yet: m is −∞ and l 0."


def test_the_sentence_of_the_values(view):
    view.show_page("values")
    assert view.sentence() == "2 of 3 values were computed in this step. All are finite."
