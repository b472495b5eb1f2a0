from dataclasses import replace

import msgspec
import numpy as np
import pytest
from PySide6.QtCore import QPoint, QRectF, Qt

from explorer.ui.views import TimelineView
from explorer.ui.views.timeline_model import lanes, row_blocks, schedule

NONE, LEFT = Qt.KeyboardModifier.NoModifier, Qt.MouseButton.LeftButton


@pytest.fixture
def view(qtbot, scenes):
    view = TimelineView()
    qtbot.addWidget(view)
    view.resize(620, 130)
    view.scene = scenes(q_len=64, kv_len=64)
    view.show_state(view.scene.state(9))
    return view


def timed(scene, load, compute, store):
    return msgspec.structs.replace(
        scene.configured.timeline,
        load_us=np.array(load, float),
        compute_us=np.array(compute, float),
        store_us=np.array(store, float),
    )


def test_loads_run_one_step_ahead_and_compute_waits_for_them(scene):
    plan = schedule(timed(scene, [2, 3, 1, 8], [4, 1, 2, 1], [0, 5, 0, 1]))
    # step 1 loads while step 0 computes; step 3's loads outlast step 2's compute
    np.testing.assert_array_equal(plan.load_start, [0, 2, 6, 7])
    np.testing.assert_array_equal(plan.load_end, [2, 5, 7, 15])
    np.testing.assert_array_equal(plan.compute_start, [2, 6, 7, 15])
    np.testing.assert_array_equal(plan.compute_end, [6, 7, 9, 16])
    np.testing.assert_array_equal(plan.store_start[[1, 3]], [7, 16])
    assert plan.length == 17
    assert [plan.step_at(time) for time in (0, 6.5, 8, 12, 99)] == [0, 1, 2, 2, 3]
    assert [plan.until(step) for step in range(4)] == [6, 7, 15, 17]


def test_lanes_follow_the_roles_of_the_operands(scene):
    found = lanes(scene.configured)
    assert found.loads == (("load Q", (0,)), ("load K, V", (1, 2)))
    assert found.store == "store O"
    plain = [msgspec.structs.replace(operand, role="other") for operand in scene.configured.operands]
    found = lanes(msgspec.structs.replace(scene.configured, operands=tuple(plain)))
    assert found.loads == (("load", (0, 1, 2)),)
    assert found.store == "store"


def test_row_blocks_are_runs_of_steps(scenes):
    assert row_blocks(scenes(q_len=40, kv_len=48).configured.timeline) == [(0, 3), (3, 6), (6, 9)]


def test_a_click_goes_to_the_step_computed_at_that_time(qtbot, view):
    plan = view.plan_in(QRectF(view.rect()))
    for step in (0, 5, 9, 14):
        time = (view.schedule.compute_start[step] + view.schedule.compute_end[step]) / 2
        with qtbot.waitSignal(view.step_requested) as went:
            qtbot.mouseClick(view, LEFT, NONE, QPoint(round(plan.x_of(time)), 60))
        assert went.args == [step]
    with qtbot.assertNotEmitted(view.step_requested):
        qtbot.mouseClick(view, LEFT, NONE, QPoint(5, 60))


def test_keys_step(qtbot, view):
    with qtbot.waitSignal(view.step_requested) as went:
        qtbot.keyClick(view, Qt.Key.Key_Right)
    assert went.args == [10]
    with qtbot.waitSignal(view.step_requested) as went:
        qtbot.keyClick(view, Qt.Key.Key_Left)
    assert went.args == [8]


def test_the_current_step_is_boxed_and_the_future_is_pale(view, paint):
    image, _ = paint(view, on_screen=True)
    plan, times = view.plan_in(QRectF(view.rect())), view.schedule
    middle = round(plan.lane_tops[2] + plan.lane_height / 2)

    def colour(step):
        start, end = times.compute_start[step], times.compute_end[step]
        return image.pixelColor(round(plan.x_of(start + (end - start) / 6)), middle)

    assert colour(5).name() == view.theme.scores
    assert colour(13).lightness() > colour(5).lightness()
    left = plan.x_of(times.compute_start[9])
    assert image.pixelColor(round(left - 1), middle).name() == view.theme.text


def test_a_long_run_shows_a_part_and_the_whole_in_a_strip(qtbot, scenes, view):
    scene = scenes(q_len=256, kv_len=256, block_q=8, block_kv=8, tokens=False)
    view.show_state(scene.state(700))
    plan = view.plan_in(QRectF(view.rect()))
    assert plan.overview is not None
    start, end = view.schedule.compute_start[700], view.schedule.compute_end[700]
    assert plan.start_us <= start < end <= plan.end_us
    assert plan.end_us - plan.start_us < 0.1 * view.schedule.length
    with qtbot.waitSignal(view.step_requested) as went:
        qtbot.mouseClick(view, LEFT, NONE, plan.overview.center().toPoint())
    assert went.args[0] == pytest.approx(view.schedule.step_at(view.schedule.length / 2), abs=4)


def test_every_step_of_a_long_run_is_on_show_when_it_is_current(scenes, view):
    scene = scenes(q_len=128, kv_len=128, block_q=8, block_kv=8, tokens=False)
    state = scene.state(0)
    for step in range(0, 256, 7):
        view.show_state(replace(state, snapshot=msgspec.structs.replace(state.snapshot, step=step)))
        plan = view.plan_in(QRectF(view.rect()))
        assert plan.start_us <= view.schedule.compute_start[step]
        assert view.schedule.compute_end[step] <= plan.end_us + 1e-9


def test_the_sentence_says_that_it_is_a_model(view):
    said = view.sentence()
    assert said.startswith("Grid step 10 of 16: its loads take 20.5 ns")
    assert "compute takes 50.0 ns" in said
    assert said.endswith("modelled for v5e, not measured.")
    view.show_state(view.scene.state(3))
    assert view.sentence().startswith("Grid step 4 of 16: it loads nothing; its tile is skipped. The whole run")


def test_the_tip_of_a_skipped_step(view):
    plan = view.plan_in(QRectF(view.rect()))
    time = (view.schedule.compute_start[3] + view.schedule.compute_end[3]) / 2
    assert "grid step 4, skipped" in view.tip_at(QPoint(round(plan.x_of(time)), 60))
