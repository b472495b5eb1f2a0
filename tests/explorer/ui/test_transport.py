"""Transport: what its buttons and keys ask for, what it says of the place in the run, and why it is off."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QImage, QKeyEvent
from PySide6.QtWidgets import QApplication

from explorer.link.messages import Configured
from explorer.session.cursor import Cursor
from explorer.session.state import StepState
from explorer.ui.actions import BY_ID
from explorer.ui.theme import LIGHT
from explorer.ui.transport import BUTTONS, Transport, place_text, speed_text
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def run(make_configured: Callable[..., Configured]) -> Configured:
    """12 heads of 6 x 6 tiles."""
    return make_configured(AttentionProblem(q_len=96, kv_len=96, head_dim=8, heads=12, causal=True), BlockSizes(16, 16))


@pytest.fixture
def transport(qtbot, run: Configured) -> Transport:
    widget = Transport()
    qtbot.addWidget(widget)
    widget.set_theme(LIGHT)
    widget.resize(1264, 44)
    widget.show_state(StepState(configured=run, cursor=Cursor(step=7 * 36 + 20)))
    return widget


@pytest.mark.parametrize("name", BUTTONS)
def test_each_button_asks_for_its_action_and_names_its_key(qtbot, transport, name):
    with qtbot.waitSignal(transport.action) as asked:
        qtbot.mouseClick(transport.buttons[name], Qt.MouseButton.LeftButton)
    assert asked.args == [name]
    assert BY_ID[name].keys[0] in transport.buttons[name].toolTip()


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Return])
def test_a_button_with_the_focus_is_pressed_by_key_and_keeps_it_from_the_window(qtbot, transport, key):
    button = transport.buttons["last"]
    override = QKeyEvent(QEvent.Type.ShortcutOverride, key, Qt.KeyboardModifier.NoModifier)
    override.ignore()
    QApplication.sendEvent(button, override)
    assert override.isAccepted()
    with qtbot.waitSignal(transport.action) as asked:
        qtbot.keyClick(button, key)
    assert asked.args == ["last"]


def test_grain_and_speed_are_chosen(qtbot, transport):
    with qtbot.waitSignal(transport.grain_chosen) as grain:
        qtbot.mouseClick(transport.grain.buttons["row block"], Qt.MouseButton.LeftButton)
    assert grain.args == ["row block"]
    transport.speed.menu().aboutToShow.emit()
    with qtbot.waitSignal(transport.speed_chosen) as speed:
        next(a for a in transport.speed.menu().actions() if a.text() == "16 steps/s").trigger()
    assert speed.args == [16.0]


def test_the_slider_asks_for_a_step(qtbot, transport):
    with qtbot.waitSignal(transport.step_requested) as asked:
        qtbot.keyClick(transport.scrubber, Qt.Key.Key_Home)
    assert asked.args == [0]


def test_steps_count_from_one_and_blocks_from_zero(transport, run):
    assert transport.text() == "grid step 273 of 432 · head 7 · q block 3 · kv block 2"
    state = StepState(configured=run, cursor=Cursor(step=0, stage=3, grain="stage"))
    assert place_text(state) == ("grid step 1 of 432 · stage 3 of 5", "head 0 · q block 0 · kv block 0")


def test_a_batch_is_named_where_there_is_one(make_configured):
    problem = AttentionProblem(q_len=32, kv_len=32, head_dim=8, batch=2)
    state = StepState(configured=make_configured(problem, BlockSizes(16, 16)), cursor=Cursor(step=5))
    assert place_text(state)[1] == "batch 1 · head 0 · q block 0 · kv block 1"


def test_an_unknown_order_is_told_by_grid_coordinates(run):
    unknown = msgspec.structs.replace(run, order=np.full_like(run.order, -1), grid=(12, 36), grid_names=("i", "j"))
    assert place_text(StepState(configured=unknown, cursor=Cursor(step=40)))[1] == "i 1 · j 4"


def test_a_kernel_that_is_not_driven_says_why_on_every_part(transport, run):
    reason = "Naive attention is no Pallas kernel: run or measure it."
    whole = msgspec.structs.replace(run, driven=False, reason_not_driven=reason, kernel_title="Naive")
    transport.show_state(StepState(configured=whole))
    for part in (*transport.buttons.values(), transport.scrubber):
        assert not part.isEnabled()
        assert part.toolTip() == reason
    assert not transport.grain.isEnabled()
    assert transport.text() == "no grid steps · Naive"
    transport.show_state(StepState(configured=run))
    assert all(button.isEnabled() for button in transport.buttons.values())


def test_playing_shows_pause_and_the_speed_in_force(transport, run):
    transport.show_state(StepState(configured=run, playing=True, steps_per_second=0.5))
    assert transport.buttons["play"].name == "pause"
    assert transport.speed.value == "0.500 steps/s"
    transport.show_state(StepState(configured=run, playing=False))
    assert transport.buttons["play"].name == "play"
    assert [speed_text(speed) for speed in (1.0, 30.0)] == ["1 step/s", "30 steps/s"]


def test_the_same_state_again_does_nothing(transport, run):
    state = StepState(configured=run, cursor=Cursor(step=3))
    transport.show_state(state)
    transport.place.setText("untouched")
    transport.show_state(replace(state, message="another message"))
    assert transport.place.text() == "untouched"


@pytest.mark.parametrize("width", [1264, 1904])
def test_nothing_is_cut_and_the_slider_keeps_its_length_through_a_run(qtbot, transport, run, width):
    transport.resize(width, 44)
    transport.show()
    lengths = set()
    for step in (0, 99, 431):
        transport.show_state(StepState(configured=run, cursor=Cursor(step=step)))
        QApplication.processEvents()
        lengths.add(transport.scrubber.width())
        for label in (transport.place, transport.tile):
            assert label.width() >= label.fontMetrics().horizontalAdvance(label.text())
    assert len(lengths) == 1
    assert lengths.pop() >= 320


def test_icons_are_drawn_anew_for_a_picture_at_scale_two(transport):
    """The bar of 'first' is 2 of 24 units: 3.3 pixels, not the 2 of the screen enlarged with soft edges around."""
    button = transport.buttons["first"]
    button.set_theme(LIGHT)
    picture = QImage(64, 64, QImage.Format.Format_ARGB32_Premultiplied)
    picture.setDevicePixelRatio(2)
    picture.fill(0xFFFFFFFF)
    button.render(picture)
    inked = [picture.pixelColor(x, 32).lightness() < 80 for x in range(64)]
    bar = inked.index(True)
    assert inked[bar : bar + 6] in ([True] * 4 + [False] * 2, [True] * 3 + [False] * 3)
