"""Intents in, requests out, replies into the state; against a real workbench that answers on demand."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.link.messages import Cancel, Configure, GetMatrix, GoTo, Measure
from explorer.session import cursor as cursors
from explorer.session.config import Configuration


def sent(desk, kind):
    return [request for request in desk.client.sent if isinstance(request, kind)]


def test_the_first_picture_comes_whole(make_desk):
    desk = make_desk()
    seen = []
    desk.controller.state_changed.connect(seen.append)
    desk.started()
    assert desk.state.configured is not None
    assert desk.state.snapshot is not None
    assert desk.state.matrix is not None
    assert desk.state.strips is not None
    assert desk.state.inputs is not None
    partial = [s for s in seen if s.configured is not None and (s.snapshot is None or s.matrix is None)]
    assert partial == []
    assert desk.state.message_kind != "error"


def test_it_opens_in_the_middle_of_the_first_head(desk):
    shown = desk.state.snapshot
    assert shown.computed
    assert 0 < shown.tiles_done < shown.tiles_total
    assert shown.head == 0


def test_step_forward_and_back_skip_what_the_mask_empties(desk):
    start = desk.state.snapshot.step
    desk.controller.navigator.go_to_step(0)
    desk.settle()
    walked = [0]
    for _ in range(5):
        desk.controller.navigator.forward()
        desk.settle()
        walked.append(desk.state.snapshot.step)
    computed = np.flatnonzero(desk.state.configured.timeline.computed)
    assert walked == list(computed[:6])
    desk.controller.navigator.backward()
    desk.settle()
    assert desk.state.snapshot.step == computed[4]
    assert start > 0


def test_every_skipped_tile_can_be_visited(desk):
    desk.controller.navigator.visit_skipped = True
    desk.controller.navigator.go_to_step(1)
    desk.settle()
    desk.controller.navigator.forward()
    desk.settle()
    assert desk.state.snapshot.step == 2


def test_scrubbing_shows_the_newest_and_never_starves(desk):
    before = len(sent(desk, GoTo))
    for step in range(10):
        desk.controller.navigator.go_to_step(step)
    assert len(sent(desk, GoTo)) == before + 1
    desk.client.answer()  # the step that was under way is shown
    assert desk.state.snapshot.step == 0
    desk.settle()
    assert desk.state.snapshot.step == 9
    assert [g.step for g in sent(desk, GoTo)[before:]] == [0, 9]


def test_stages_move_without_asking_the_engine(desk):
    asked = len(desk.client.sent)
    desk.controller.navigator.choose_grain("stage")
    desk.controller.navigator.choose_stage(2)
    assert desk.state.cursor.stage == 2
    desk.controller.navigator.forward()
    assert desk.state.cursor.stage == 3
    assert len(desk.client.sent) == asked


def test_a_row_block_at_a_time_keeps_the_grain(desk):
    desk.controller.navigator.go_to_step(0)
    desk.settle()
    desk.controller.navigator.move_by("row block", cursors.forward)
    desk.settle()
    ends = np.flatnonzero(np.diff(desk.state.configured.timeline.row_block))
    assert desk.state.snapshot.step == ends[0]
    assert desk.state.cursor.grain == "step"


def test_another_head_brings_its_own_strips_and_matrix(desk):
    first = desk.state.strips
    desk.controller.navigator.go_to_next_head(1)
    desk.settle()
    assert desk.state.snapshot.head == 1
    assert desk.state.strips.head == 1
    assert desk.state.matrix.head == 1
    assert not np.array_equal(first.q, desk.state.strips.q)
    desk.controller.navigator.go_to_next_head(1)
    desk.settle()
    assert desk.state.snapshot.head == 1


def test_the_kernels_own_p_grows_with_the_steps(desk):
    desk.controller.choose_matrix("flash-probabilities")
    desk.settle()
    known = np.isfinite(desk.state.matrix.values).sum()
    desk.controller.navigator.forward()
    desk.settle()
    assert np.isfinite(desk.state.matrix.values).sum() > known
    assert desk.state.matrix.kind == "flash-probabilities"


def test_naive_pictures_are_asked_for_once_a_head(desk):
    asked = len(sent(desk, GetMatrix))
    desk.controller.navigator.forward()
    desk.settle()
    assert len(sent(desk, GetMatrix)) == asked


def test_a_changed_setting_takes_effect_by_itself(desk):
    desk.controller.change({"block_q": 8})
    desk.settle()
    assert desk.state.configured.blocks.block_q == 8
    assert desk.state.snapshot.q_range[1] - desk.state.snapshot.q_range[0] <= 8


def test_a_change_of_tiles_stays_at_the_same_place_of_the_matrix(desk):
    desk.controller.navigator.go_to_head(0, 1)
    desk.settle()
    before = desk.state.snapshot
    desk.controller.change({"block_q": 8, "block_kv": 16})
    desk.settle()
    after = desk.state.snapshot
    assert after.head == 1
    assert after.computed
    assert after.q_range[0] <= before.q_range[0] < after.q_range[1]
    assert after.kv_range[0] <= before.kv_range[0] < after.kv_range[1]


def test_a_place_that_is_now_skipped_gives_way_to_the_nearest_computed_tile(desk):
    desk.controller.change({"mask": "none"})
    desk.settle()
    desk.controller.navigator.go_to_step(3)  # the first rows meet the last keys
    desk.settle()
    desk.controller.change({"mask": "causal"})
    desk.settle()
    assert desk.state.snapshot.computed
    assert desk.state.snapshot.head == 0
    assert desk.state.snapshot.q_block in (0, 1)


def test_undo_and_redo_bring_settings_back(desk):
    desk.controller.change({"block_q": 8})
    desk.settle()
    desk.controller.undo()
    desk.settle()
    assert desk.state.configured.blocks.block_q == 16
    desk.controller.redo()
    desk.settle()
    assert desk.state.configured.blocks.block_q == 8


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"block_q": 0}, "block-q"),
        ({"input": "/nowhere/file.npz"}, "file.npz"),
        ({"heads": 3, "kv_heads": 2}, "kv"),
        ({"kernel": "jax-flash"}, "jax-flash"),
        ({"q_len": 50_000_000}, "GiB"),
    ],
)
def test_bad_settings_are_said_in_one_line_and_the_last_picture_stays(desk, settings, words):
    before = desk.state.snapshot
    desk.controller.change(settings)
    desk.settle()
    assert desk.state.message_kind == "error"
    assert words in desk.state.message
    assert "\n" not in desk.state.message
    assert desk.state.snapshot is before
    desk.controller.undo()
    desk.settle()
    assert desk.state.message_kind != "error"
    desk.controller.navigator.forward()
    desk.settle()
    assert desk.state.snapshot.step != before.step


def test_only_the_newest_of_several_changes_is_compiled(desk):
    before = len(sent(desk, Configure))
    for size in (8, 32, 24):
        desk.controller.change({"block_kv": size})
    desk.settle()
    assert desk.state.configured.blocks.block_kv == 24
    assert len(sent(desk, Configure)) - before <= 2


def test_kernels_without_a_grid_show_naive_and_say_why(make_desk):
    desk = make_desk(Configuration(input="normal", q_len=16, kv_len=16, heads=1, head_dim=8, kernel="naive")).started()
    assert desk.state.snapshot is None
    assert desk.state.matrix is not None
    assert "no Pallas kernel" in desk.state.configured.reason_not_driven
    desk.controller.navigator.forward()
    assert desk.state.snapshot is None


def test_an_engine_that_dies_is_started_again_and_goes_on_at_the_same_step(desk):
    desk.controller.navigator.go_to_step(9)
    desk.settle()
    desk.client.die("The engine was killed (signal 9).")
    desk.qtbot.waitUntil(lambda: desk.client.starts == 2)
    assert "signal 9" in desk.state.message
    assert "nothing is lost" in desk.state.message
    desk.qtbot.waitUntil(lambda: bool(desk.client.waiting))
    desk.client.answer_all()
    desk.qtbot.waitUntil(lambda: not desk.controller._talk.busy("configure", "goto"))
    assert desk.state.snapshot.step == 9
    desk.controller.navigator.forward()
    desk.settle()
    assert desk.state.snapshot.step > 9


def test_an_engine_that_keeps_dying_is_not_started_for_ever(desk):
    for _ in range(6):
        desk.client.die("The engine ended.")
        desk.qtbot.wait(5)
    assert desk.client.starts == 4
    assert "Restart engine" in desk.state.message
    desk.controller.restart_engine()
    assert desk.client.starts == 5


def test_an_engine_that_hangs_on_new_settings_comes_back_with_the_last_good_ones(desk):
    good = desk.session.last_good
    desk.controller.change({"block_kv": 32})
    desk.qtbot.waitUntil(lambda: any(isinstance(r, Configure) for r in desk.client.waiting))
    desk.client.die("The engine was stopped.")
    desk.settle()
    assert desk.state.configuration == good
    assert desk.state.configured.blocks.block_kv == 8


def test_measuring_waits_for_quiet_and_gives_way(desk):
    desk.qtbot.waitUntil(lambda: bool(sent(desk, Measure)), timeout=5000)
    measure = sent(desk, Measure)[-1]
    desk.controller.navigator.forward()
    assert Cancel(id=0, target=measure.id) in desk.client.sent
    desk.settle()
    desk.qtbot.waitUntil(lambda: len(sent(desk, Measure)) > 1, timeout=5000)
    desk.client.answer_all()
    assert desk.state.measured.kernel.count >= 10
    assert "not TPU speed" in desk.state.measured.kernel.ran_on


def test_stop_with_nothing_under_way_only_clears_the_message(desk):
    desk.qtbot.waitUntil(lambda: bool(sent(desk, Measure)), timeout=5000)
    desk.client.answer_all()
    desk.controller.report("Something was said.", "info")
    desk.controller.stop()
    assert desk.state.message == ""
    assert desk.controller.settled


def test_stop_cancels_what_is_under_way_and_says_so(desk):
    desk.controller.navigator.forward()
    desk.controller.stop()
    assert desk.state.message == "Stopped."
    desk.controller.navigator.forward()
    desk.settle()
    assert desk.state.message_kind != "busy"


def test_playing_runs_to_the_end_and_stops(desk):
    desk.controller.navigator.go_to_step(desk.state.configured.steps - 3)
    desk.settle()
    desk.controller.navigator.set_speed(200.0)
    desk.controller.navigator.play(True)

    def ended() -> bool:
        desk.client.answer_all()
        return not desk.state.playing

    desk.qtbot.waitUntil(ended, timeout=10_000)
    assert desk.state.snapshot.step == desk.state.configured.steps - 1


def test_selection_goes_with_its_head(desk):
    desk.controller.select(5, 3)
    assert (desk.state.selection.row, desk.state.selection.column) == (5, 3)
    desk.controller.navigator.forward()
    desk.settle()
    assert desk.state.selection.row == 5
    desk.controller.navigator.go_to_head(0, 1)
    desk.settle()
    assert desk.state.selection.row is None


def test_another_input_leaves_the_old_ones_shape_behind(desk):
    desk.session.open_input("short-en")
    desk.settle()
    assert desk.state.configuration.q_len is None
    assert desk.state.inputs.name == "short-en"
    assert desk.state.inputs.q_tokens
    assert desk.session.recent.names[0] == "short-en"


def test_closing_ends_the_engine(desk):
    desk.controller.close()
    assert desk.client.closed
