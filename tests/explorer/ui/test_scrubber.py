"""The slider over grid steps: where things stand on it, and what pointer and keys ask for."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtTest import QSignalSpy

from explorer.link.messages import Configured
from explorer.ui.scrubber import MARGIN, Scrubber, computed_spans, tick_places
from explorer.ui.theme import THEMES
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


@pytest.fixture
def run(make_configured: Callable[..., Configured]) -> Configured:
    """6 x 6 tiles, the 15 over the diagonal skipped."""
    return make_configured(AttentionProblem(q_len=96, kv_len=96, head_dim=8, causal=True), BlockSizes(16, 16))


@pytest.fixture
def scrubber(qtbot, run: Configured) -> Scrubber:
    widget = Scrubber()
    qtbot.addWidget(widget)
    widget.resize(2 * MARGIN + 350, 32)
    widget.show_run(run)
    widget.show_step(12)
    return widget


def test_a_place_and_its_step_belong_together(scrubber):
    assert [scrubber.step_at(scrubber.place_of(step)) for step in range(36)] == list(range(36))
    assert (scrubber.place_of(0), scrubber.place_of(35)) == (MARGIN, MARGIN + 350)
    assert (scrubber.step_at(-50), scrubber.step_at(5000)) == (0, 35)


def test_showing_a_run_or_a_step_asks_for_nothing(scrubber, run):
    spy = QSignalSpy(scrubber.step_requested)
    scrubber.show_step(20)
    scrubber.show_run(None)
    scrubber.show_run(run)
    assert spy.count() == 0


def test_dragging_asks_for_every_step_on_the_way_and_is_not_pulled_back(qtbot, scrubber):
    spy = QSignalSpy(scrubber.step_requested)
    at = lambda step: QPoint(round(scrubber.place_of(step)), 16)  # noqa: E731
    qtbot.mousePress(scrubber, Qt.MouseButton.LeftButton, pos=at(3))
    scrubber.show_step(12)  # a picture of the step before arrives late
    assert scrubber.value() == 3
    qtbot.mouseMove(scrubber, at(30))
    qtbot.mouseRelease(scrubber, Qt.MouseButton.LeftButton, pos=at(30))
    assert [spy.at(i)[0] for i in range(spy.count())] == [3, 30]
    scrubber.show_step(29)
    assert scrubber.value() == 29


@pytest.mark.parametrize(
    ("key", "step"),
    [
        (Qt.Key.Key_Right, 13), (Qt.Key.Key_Left, 11), (Qt.Key.Key_PageUp, 18), (Qt.Key.Key_PageDown, 6),
        (Qt.Key.Key_Home, 0), (Qt.Key.Key_End, 35),
    ],
)  # fmt: skip
def test_keys_move_by_a_step_a_row_of_tiles_or_to_an_end(qtbot, scrubber, key, step):
    spy = QSignalSpy(scrubber.step_requested)
    qtbot.keyClick(scrubber, key)
    assert [spy.at(i)[0] for i in range(spy.count())] == [step]


def test_without_a_driven_kernel_it_is_off(scrubber, run):
    scrubber.show_run(msgspec.structs.replace(run, driven=False))
    assert not scrubber.isEnabled()
    assert scrubber.maximum() == 0


def test_spans_cover_the_computed_steps_and_only_those(run):
    # one pixel a step: step n takes n - 0.5 to n + 0.5
    spans = computed_spans(run.timeline.computed, 35)
    assert spans[0] == (0.0, 0.5)
    assert spans[1] == (5.5, 7.5)
    assert spans[-1] == (29.5, 35.0)
    assert sum(right - left for left, right in spans) == pytest.approx(21 - 1)  # half a step is cut at each end
    assert computed_spans(np.zeros(4, bool), 100) == []
    assert computed_spans(np.zeros(0, bool), 100) == []


def test_a_hundred_thousand_steps_are_at_most_a_span_a_pixel():
    spans = computed_spans(np.arange(131072) % 3 > 0, 400)
    assert len(spans) == 1
    assert spans[0][1] == 400
    assert tick_places(np.arange(131072) // 8, 400) == []


def test_ticks_stand_where_a_row_block_begins(run):
    assert tick_places(run.timeline.row_block, 35) == [5.5, 11.5, 17.5, 23.5, 29.5]


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_what_is_done_is_filled_and_what_is_to_come_is_pale(scrubber, theme):
    scrubber.set_theme(theme)
    scrubber.show_step(18)
    picture = scrubber.grab().toImage()
    done = picture.pixelColor(round(scrubber.place_of(13)), 18)
    to_come = picture.pixelColor(round(scrubber.place_of(31)), 18)
    assert done.name() == theme.text
    assert to_come.name() != theme.text
    skipped = picture.pixelColor(round(scrubber.place_of(10)), 18)
    assert skipped.name() != theme.text
