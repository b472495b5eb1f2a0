"""Problem, readouts and messages say what the state holds, in words and with units."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtTest import QSignalSpy

from explorer.link.messages import Measured, Timing
from explorer.session.state import StepState
from explorer.ui import readouts
from explorer.ui.message_bar import BUSY_AFTER_MS, MessageBar
from explorer.ui.problem_panel import ProblemPanel, facts, mask_text, scale_text
from explorer.ui.theme import LIGHT
from kernels.problem import AttentionProblem


def problem(**fields) -> AttentionProblem:
    return AttentionProblem(**{"q_len": 8, "kv_len": 8, "head_dim": 32, **fields})


def test_masks_are_named_with_their_alignment():
    assert mask_text(problem()) == "none"
    assert mask_text(problem(causal=True)) == "causal, top-left"
    assert mask_text(problem(causal=True, alignment="bottom-right", window=(3, None))) == "causal, bottom-right · window 3,∞"
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


def test_readouts_carry_units_and_where_it_ran(desk, qtbot):
    widget = readouts.Readouts()
    qtbot.addWidget(widget)
    timing = Timing(compile_ms=500.0, median_ms=3.1, p95_ms=3.6, count=20, ran_on="a test")
    naive = dataclasses.replace(desk.state, measured=Measured(id=1, kernel=timing, naive=timing))
    widget.show_state(naive)
    text = widget.plain_text()
    assert desk.state.configured.ran_on in text
    assert "full run 3.10 ms median, p95 3.60 ms (20 runs)" in text
    assert "naive 3.10 ms median" in text
    assert "of 16.0 MiB" in text
    assert "vs float64" in text
    known = desk.state.snapshot.error_float64
    worst = float(known[~np.isnan(known)].max())
    assert f"max error {worst:.1e}" in text


def test_probes_that_cost_nothing_have_their_sign(desk):
    snapshot = desk.state.snapshot
    timing = msgspec.structs.replace(snapshot.timing, step_ms=0.61, probes_ms=-0.02)
    state = dataclasses.replace(desk.state, snapshot=msgspec.structs.replace(snapshot, timing=timing))
    assert readouts.texts(state)[0] == ("this step", "610 µs", "(probes −20.0 µs)")


def test_a_nan_error_is_not_hidden_as_unknown(desk):
    errors = np.array([np.nan, 1e-7, np.inf])
    snapshot = msgspec.structs.replace(desk.state.snapshot, error_float64=errors)
    found = readouts.texts(dataclasses.replace(desk.state, snapshot=snapshot))
    assert ("max error", "∞", "vs float64") in found


def test_a_kernel_without_steps_claims_no_transfers(desk):
    whole = msgspec.structs.replace(desk.state.configured, driven=False)
    found = readouts.texts(dataclasses.replace(desk.state, configured=whole, snapshot=None))
    assert not {"VMEM", "HBM moved"} & {name for name, _, _ in found}


def test_readouts_flow_onto_more_lines_and_none_is_cut(desk, qtbot):
    widget = readouts.Readouts()
    qtbot.addWidget(widget)
    widget.show_state(desk.state)
    for width in (1900, 1264, 700):
        widget.resize(width, widget.layout().heightForWidth(width))
        widget.show()
        qtbot.wait(10)
        labels = [label for label in (widget.badge, *widget._labels, widget.engine) if not label.isHidden()]
        for label in labels:
            assert label.width() >= label.sizeHint().width()
            assert widget.rect().contains(label.geometry())
        for one in labels:
            assert not any(one.geometry().intersects(other.geometry()) for other in labels if other is not one)


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
