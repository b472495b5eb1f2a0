"""The problem and the messages: what the state holds, in words."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy

from explorer.session.state import StepState
from explorer.ui.message_bar import BUSY_AFTER_MS, MessageBar
from explorer.ui.problem_panel import ProblemPanel, facts, mask_text, scale_text
from explorer.ui.theme import LIGHT
from kernels.problem import AttentionProblem

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


def problem(**fields) -> AttentionProblem:
    return AttentionProblem(**{"q_len": 8, "kv_len": 8, "head_dim": 32, **fields})


def test_masks_are_named_with_their_alignment():
    assert mask_text(problem()) == "none"
    assert mask_text(problem(causal=True)) == "causal, top-left"
    both = problem(causal=True, alignment="bottom-right", window=(3, None))
    assert mask_text(both) == "causal, bottom-right · window 3,∞"
    assert mask_text(problem(kv_lengths=np.array([4], np.int32))) == "kv lengths"


def test_the_scale_in_force_is_always_shown():
    assert scale_text(problem()) == "0.1768 = d^-½"
    assert scale_text(problem(scale=1.0)) == "1, not d^-½"


def test_padding_to_lanes_and_shared_heads_show(desk):
    shown = dict(facts(desk.state.configured))
    assert shown["Head dim"] == "8 → 128 lanes"
    assert shown["Heads"] == "2"
    assert shown["Softcap"] == "off"
    grouped = msgspec.structs.replace(desk.state.configured, problem=problem(heads=4, kv_heads=2, head_dim=128))
    assert dict(facts(grouped))["Heads"] == "4 on 2 kv"
    assert dict(facts(grouped))["Head dim"] == "128"


def test_heads_are_gone_through_by_click(desk, qtbot):
    panel = ProblemPanel()
    qtbot.addWidget(panel)
    panel.set_theme(LIGHT)
    panel.show_state(desk.state)
    spy = QSignalSpy(panel.head_requested)
    assert not panel.back.isEnabled()
    qtbot.mouseClick(panel.forward, Qt.MouseButton.LeftButton)
    assert spy.at(0) == [0, 1]


@pytest.fixture
def messages(qtbot) -> MessageBar:
    bar = MessageBar()
    qtbot.addWidget(bar)
    bar.set_theme(LIGHT)
    return bar


def test_an_error_shows_at_once_and_can_be_put_away(messages, qtbot):
    messages.show_state(StepState(message="q-len 500 is more than this input has", message_kind="error"))
    assert messages.isVisible()
    assert not messages.stop.isVisible()
    spy = QSignalSpy(messages.dismissed)
    qtbot.mouseClick(messages.close_button, Qt.MouseButton.LeftButton)
    assert spy.count() == 1
    messages.show_state(StepState())
    assert not messages.isVisible()


def test_what_is_done_soon_is_not_announced(messages, qtbot):
    messages.show_state(StepState(message="Capturing…", message_kind="busy"))
    assert not messages.isVisible()
    qtbot.wait(BUSY_AFTER_MS + 100)
    assert messages.isVisible()
    spy = QSignalSpy(messages.stop_requested)
    qtbot.mouseClick(messages.stop, Qt.MouseButton.LeftButton)
    assert spy.count() == 1


def test_markup_in_a_message_stays_text(messages):
    messages.show_state(StepState(message="<b>bold</b>", message_kind="error"))
    assert messages.text.textFormat() == Qt.TextFormat.PlainText
