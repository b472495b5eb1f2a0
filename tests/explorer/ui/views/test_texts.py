"""No text overlaps another, is cut or leaves its view, at the sizes of the window, in both themes and larger type."""

from __future__ import annotations

from itertools import combinations

import pytest
from PySide6.QtCore import QRectF

from explorer.session.state import StepState
from explorer.ui.views import MatrixView, MemoryView, SoftmaxView, StagesView, TimelineView, ValuesView
from explorer.ui.views.sheet import PlacedText

SIZES = [
    (MatrixView, (620, 420)),
    (MatrixView, (420, 330)),
    (MatrixView, (980, 700)),
    (MemoryView, (330, 270)),
    (MemoryView, (460, 400)),
    (MemoryView, (330, 212)),
    (MemoryView, (300, 180)),
    (SoftmaxView, (330, 200)),
    (SoftmaxView, (240, 170)),
    (SoftmaxView, (330, 112)),
    (ValuesView, (330, 190)),
    (ValuesView, (330, 82)),
    (TimelineView, (620, 130)),
    (TimelineView, (1100, 180)),
    (StagesView, (210, 440)),
    (StagesView, (180, 620)),
]
SHAPES = {
    "square": {},
    "tokens": {"q_len": 9, "kv_len": 9, "block_q": 4, "block_kv": 4},
    "ragged": {"q_len": 37, "kv_len": 50, "block_q": 16, "block_kv": 8, "causal": False},
    "decode": {"q_len": 1, "kv_len": 512, "block_q": 1, "block_kv": 64, "causal": False, "tokens": False},
    "many tiles": {"q_len": 256, "kv_len": 256, "block_q": 4, "block_kv": 4, "tokens": False},
}


def text_faults(texts: list[PlacedText], size: tuple[int, int]) -> list[str]:
    """What is cut, outside the view or overlaps; a pixel of slack, as glyphs do not fill their line."""
    faults, area = [], QRectF(-1, -1, size[0] + 2, size[1] + 2)
    for placed in texts:
        if not placed.limit.adjusted(-1, -1.5, 1, 1.5).contains(placed.ink):
            faults.append(f"cut: {placed.text!r} needs {placed.ink}, has {placed.limit}")
        if not area.contains(placed.ink):
            faults.append(f"outside: {placed.text!r} at {placed.ink}")
    for one, other in combinations(texts, 2):
        common = one.ink.intersected(other.ink)
        if common.width() > 1 and common.height() > 2:
            faults.append(f"overlap: {one.text!r} and {other.text!r} by {common.width():.1f} x {common.height():.1f}")
    return faults


def set_pixels(view, pixels: int) -> None:
    """The window's own type has 13 pixels."""
    font = view.font()
    font.setPixelSize(pixels)
    view.setFont(font)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("view_class", "size"), SIZES)
def test_texts_keep_clear_of_each_other(qtbot, scenes, paint, view_class, size, shape):
    view = view_class()
    qtbot.addWidget(view)
    set_pixels(view, 13)
    view.resize(*size)
    scene = scenes(**SHAPES[shape])
    steps = len(scene.order)
    for step, stage in ((0, 1), (steps // 2, 3), (steps - 1, 5)):
        view.show_state(scene.state(step, stage=stage, grain="stage", row=0, column=0))
        _, texts = paint(view, on_screen=True)
        assert texts
        assert text_faults(texts, size) == []


LARGE = [size for size in SIZES if size[1] in {(620, 420), (330, 270), (330, 200), (330, 190), (620, 130), (210, 440)}]


@pytest.mark.parametrize(("view_class", "size"), LARGE)
def test_larger_type_still_fits(qtbot, scene, paint, view_class, size):
    view = view_class()
    qtbot.addWidget(view)
    set_pixels(view, 19)
    larger = (round(size[0] * 1.5), round(size[1] * 1.5))
    view.resize(*larger)
    view.show_state(scene.state(2, row=17))
    _, texts = paint(view, on_screen=True)
    assert text_faults(texts, larger) == []


@pytest.mark.parametrize("zoom", [2.0, 4.0, 8.0])
def test_zoomed_matrix_keeps_its_texts_clear(qtbot, scene, paint, zoom):
    view = MatrixView()
    qtbot.addWidget(view)
    view.resize(620, 420)
    view.show_state(scene.state(3, row=20, column=18))
    view.zoom(zoom)
    _, texts = paint(view, on_screen=True)
    assert text_faults(texts, (620, 420)) == []
    if zoom == 8.0:
        # tokens stand on the axes once cells are large
        assert {"memandang", "burung"} & {placed.text for placed in texts}


@pytest.mark.parametrize("view_class", sorted({view for view, _ in SIZES}, key=lambda view: view.__name__))
def test_an_empty_view_says_why(qtbot, theme, not_driven, paint, view_class):
    view = view_class()
    qtbot.addWidget(view)
    view.resize(330, 240)
    view.set_theme(theme)
    view.show_state(StepState())
    assert "Waiting" in view.sentence()
    view.show_state(not_driven)
    assert view.sentence() == "Naive attention is no Pallas kernel: run or measure it."
    _, texts = paint(view)
    assert [placed.text for placed in texts] == [view.sentence()]
    assert text_faults(texts, (view.width(), view.height())) == []


def test_the_check_itself_sees_faults():
    room = QRectF(0, 0, 50, 12)
    wide, low = PlacedText("wide", QRectF(0, 0, 70, 12), room), PlacedText("low", QRectF(40, 6, 20, 12), room)
    found = text_faults([wide, low], (60, 30))
    assert [fault.split(":")[0] for fault in found] == ["cut", "outside", "cut", "overlap"]


def test_buttons_are_as_wide_as_their_words(qtbot, scene):
    view = MatrixView()
    qtbot.addWidget(view)
    for width, words in ((620, "Naive probabilities P"), (300, "P")):
        view.kinds.resize(width, 24)
        view.kinds.fit()
        button = view.kinds.buttons["naive-probabilities"]
        assert button.text() == words
        assert button.sizeHint().width() >= button.fontMetrics().horizontalAdvance(words)
