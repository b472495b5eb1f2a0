import msgspec
import pytest
from PySide6.QtCore import QPoint, QPointF, QRectF, Qt

from explorer.ui.views import StagesView


@pytest.fixture
def view(qtbot, scene):
    view = StagesView()
    qtbot.addWidget(view)
    view.resize(210, 440)
    view.show_state(scene.state(3, stage=3, grain="stage"))
    return view


def test_a_click_chooses_a_stage(qtbot, view):
    for card in view.cards(QRectF(view.rect())):
        with qtbot.waitSignal(view.stage_selected) as chosen:
            point = QPoint(100, round(card.top + card.height / 2))
            qtbot.mouseClick(view, Qt.MouseButton.LeftButton, Qt.KeyboardModifier.NoModifier, point)
        assert chosen.args == [card.stage.number]


def test_keys_choose_the_next_and_the_one_before(qtbot, view):
    for key, stage in ((Qt.Key.Key_Down, 4), (Qt.Key.Key_Up, 2)):
        with qtbot.waitSignal(view.stage_selected) as chosen:
            qtbot.keyClick(view, key)
        assert chosen.args == [stage]


def test_the_current_card_is_whole_and_the_others_show_what_fits(view):
    cards = view.cards(QRectF(0, 0, 210, 300))
    current = cards[2]
    assert current.lines == (
        "in: Q[1], K[1]",
        "m rose in 4 of 16 rows",
        "cost: 65 kFLOP",
        "m, l match float64 to 6e-07",
    )
    assert cards[0].lines == ("every unmasked pair is covered once",)
    assert all(len(card.lines) == 4 for card in view.cards(QRectF(0, 0, 400, 900)))


def test_the_current_stage_is_lit_only_when_stepping_by_stages(view, scene, paint):
    def ground(card):
        image, _ = paint(view, on_screen=True)
        return image.pixelColor(200, round(card.top + card.height - 8)).name()

    assert ground(view.cards(QRectF(view.rect()))[2]) != view.theme.panel
    view.show_state(scene.state(3, stage=3, grain="step"))
    assert ground(view.cards(QRectF(view.rect()))[2]) == view.theme.panel


def colours(image, rect):
    left, top, right, bottom = (round(value) for value in rect)
    return {image.pixelColor(x, y).name() for x in range(left, right) for y in range(top, bottom)}


def test_verdicts_are_drawn_and_only_for_stages_that_have_come(view, paint):
    image, _ = paint(view, on_screen=True)
    cards = view.cards(QRectF(view.rect()))
    marks = [colours(image, (190, card.top + 4, 206, card.top + 24)) for card in cards]
    assert [view.theme.right in found for found in marks] == [True, True, True, False, False]


def test_evidence_that_does_not_hold_is_red_and_said(view, scene, paint):
    stages = list(scene.stages())
    stages[1] = msgspec.structs.replace(stages[1], holds=False)
    view.show_state(scene.state(3, stages=tuple(stages)))
    assert view.sentence() == "The evidence does not hold for: Load."
    image, _ = paint(view, on_screen=True)
    card = view.cards(QRectF(view.rect()))[1]
    assert view.theme.wrong in colours(image, (190, card.top + 4, 206, card.top + 24))


def test_the_sentence_counts_evidence(view, scene):
    assert view.sentence() == "3 of 3 stages hold. Score and normalise: m rose in 4 of 16 rows."
    view.show_state(scene.state(3))
    assert view.sentence() == "4 of 5 stages hold. Schedule: nothing stored."


def test_a_low_view_scrolls_to_the_current_stage(qtbot, view, scene):
    view.resize(210, 160)
    view.show()
    view.show_state(scene.state(3, stage=5, grain="stage"))
    assert view.bar.isVisible()
    assert view.bar.value() > 0
    card = view.cards(view._card_area())[4]
    assert view.stage_at(QPointF(50, card.top + 5 - view.bar.value())).number == 5
    view.resize(210, 900)
    qtbot.waitUntil(lambda: not view.bar.isVisible())


def test_tips_have_everything(view):
    tip = view.tip_at(QPointF(100, 10))
    for text in (
        "1 Partition",
        "consumed: Q[1], K[1], V[1]",
        "cost: 3 of 4 tiles",
        "evidence holds",
        "the kernel's own run",
    ):
        assert text in tip


def test_a_kernel_without_stages_says_so(view, scene):
    view.show_state(scene.state(3, stages=()))
    assert view.sentence() == "This kernel names no stages."
