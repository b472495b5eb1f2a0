"""Readouts carry units and sources, say '—' until a number is known, and are never cut."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import numpy as np
import pytest
from PySide6.QtWidgets import QApplication

from explorer.link.messages import Measured, Timing
from explorer.session.state import StepState
from explorer.ui.readout_texts import readouts, where_it_ran
from explorer.ui.readouts import Readouts
from explorer.ui.theme import LIGHT

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

TIMING = Timing(compile_ms=500.0, median_ms=3.1, p95_ms=3.6, count=20, ran_on="a test")


@pytest.fixture
def widget(qtbot) -> Readouts:
    widget = Readouts()
    qtbot.addWidget(widget)
    widget.set_theme(LIGHT)
    return widget


def changed(state: StepState, **fields) -> StepState:
    """The state with fields of its snapshot changed."""
    return replace(state, snapshot=msgspec.structs.replace(state.snapshot, **fields))


def by_name(state: StepState) -> dict[str, str]:
    return {part.name: part.text for part in readouts(state)}


def test_nothing_is_claimed_before_it_is_known(widget):
    assert widget.texts() == [
        "this step —", "full run —", "naive —", "VMEM —", "HBM moved —", "max error —", "engine: —"
    ]  # fmt: skip
    assert widget.badge.isHidden()


def test_all_numbers_of_a_state(desk, widget):
    timing = msgspec.structs.replace(desk.state.snapshot.timing, step_ms=0.61, probes_ms=0.22)
    state = changed(desk.state, timing=timing, vmem_live=53248, hbm_moved=47104, rss_bytes=432013312)
    memory = msgspec.structs.replace(
        state.configured.memory, vmem_peak=122880, vmem_limit=16 << 20, hbm_moved=110592, hbm_moved_naive=294912
    )
    naive = msgspec.structs.replace(TIMING, median_ms=0.9)
    state = replace(
        state, configured=msgspec.structs.replace(state.configured, memory=memory), engine="JAX 0.10.2 · cpu",
        measured=Measured(id=1, kernel=TIMING, naive=naive),
    )  # fmt: skip
    widget.show_state(state)
    worst, worst_naive = np.nanmax(state.snapshot.error_float64), np.nanmax(state.snapshot.error_naive)
    assert widget.texts() == [
        state.configured.ran_on,
        "this step 610 µs (probes +220 µs)",
        "full run 3.10 ms median, p95 3.60 ms (20 runs)",
        "naive 900 µs median",
        "VMEM 52.0 KiB live, 120 KiB peak of 16.0 MiB (v5e, model)",
        "HBM moved 46.0 KiB of 108 KiB (naive 288 KiB)",
        f"max error {worst:.1e} vs float64, {worst_naive:.1e} vs naive",
        "engine: JAX 0.10.2 · cpu · 412 MiB",
    ]


def test_probes_that_seem_to_cost_less_than_nothing_have_their_sign(desk):
    timing = msgspec.structs.replace(desk.state.snapshot.timing, step_ms=0.61, probes_ms=-0.02)
    assert by_name(changed(desk.state, timing=timing))["this step"] == "this step 610 µs (probes −20.0 µs)"


def test_a_row_that_is_not_finite_is_an_alarm_and_not_unknown(desk):
    part = readouts(changed(desk.state, error_float64=np.array([np.nan, 1e-7, np.inf])))[-1]
    assert part.value == "∞"
    assert part.wrong
    assert not readouts(desk.state)[-1].wrong


def test_vmem_over_the_limit_is_an_alarm(desk):
    memory = msgspec.structs.replace(desk.state.configured.memory, vmem_peak=17 << 20)
    over = replace(desk.state, configured=msgspec.structs.replace(desk.state.configured, memory=memory))
    assert [part.name for part in readouts(over) if part.wrong] == ["VMEM"]


def test_naive_that_cannot_run_says_why_in_its_tip(desk):
    refusal = "naive attention would need 64.0 GiB for S and P"
    state = replace(desk.state, measured=Measured(id=1, kernel=TIMING, naive=None, naive_refusal=refusal))
    part = next(part for part in readouts(state) if part.name == "naive")
    assert (part.text, part.tip) == ("naive — not run", refusal)


@pytest.mark.parametrize(
    ("ran_on", "caution"),
    [("Pallas interpreter on CPU: not TPU speed", True), ("XLA on CPU", True), ("compiled on TPU v5e", False)],
)
def test_only_a_compiled_run_on_a_tpu_needs_no_caution(desk, widget, ran_on, caution):
    state = replace(desk.state, configured=msgspec.structs.replace(desk.state.configured, ran_on=ran_on))
    assert where_it_ran(state) == (ran_on, caution)
    widget.show_state(state)
    assert (widget.badge.objectName() == "badge") is caution


def test_every_item_says_whether_execution_or_a_model_told_it(desk, widget):
    state = replace(desk.state, measured=Measured(id=1, kernel=TIMING, naive=TIMING))
    widget.show_state(state)
    for part in readouts(state):
        assert any(word in part.tip for word in ("easured", "model", "Execution")), part.name
    assert all(label.toolTip() for label in (*widget.labels, widget.badge, widget.engine))


def test_they_flow_onto_more_lines_and_none_is_cut(desk, widget):
    widget.show_state(replace(desk.state, measured=Measured(id=1, kernel=TIMING, naive=TIMING)))
    widget.show()
    heights = []
    for width in (1904, 1264, 700):
        widget.resize(width, widget.layout().heightForWidth(width))
        QApplication.processEvents()
        heights.append(widget.height())
        labels = [label for label in (widget.badge, *widget.labels, widget.engine) if not label.isHidden()]
        for label in labels:
            assert label.width() >= label.sizeHint().width()
            assert widget.rect().contains(label.geometry())
            assert not any(label.geometry().intersects(other.geometry()) for other in labels if other is not label)
    assert heights == sorted(heights)
