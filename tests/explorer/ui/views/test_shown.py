from dataclasses import replace

import msgspec
import numpy as np

from explorer.session.cursor import Cursor
from explorer.ui.views.shown import (
    IN_PROGRESS,
    TO_COME,
    WRITTEN,
    keeps_normalised,
    selected_row,
    shown_output,
    shown_softmax,
    shown_stage,
)


def test_the_stage_counts_only_for_the_snapshot_on_show(scene):
    state = scene.state(3, stage=2)
    assert shown_stage(state) == 2
    assert shown_stage(replace(state, cursor=Cursor(step=1, stage=2))) == 5


def test_output_is_as_found_until_stage_4_and_written_at_stage_5(scene):
    snapshot = scene.snapshot(3)
    _, sums, acc = scene.running(1, 16)
    before, after = shown_output(snapshot, 3), shown_output(snapshot, 4)
    np.testing.assert_allclose(before.values[16:], acc / sums[:, None], rtol=1e-5)
    assert np.isnan(before.error[16:]).all()
    np.testing.assert_array_equal(after.values, snapshot.output)
    assert set(before.done[16:]) == set(after.done[16:]) == {IN_PROGRESS}
    assert set(shown_output(snapshot, 5).done) == {WRITTEN}
    assert snapshot.output_done[20] == WRITTEN, "the snapshot itself is left alone"


def test_rows_without_a_key_are_to_come(scene):
    assert set(shown_output(scene.snapshot(0), 3).done) == {TO_COME}
    assert set(shown_output(scene.snapshot(0), 4).done[:16]) == {IN_PROGRESS}


def test_a_kernel_that_keeps_acc_divided_is_recognised(scene):
    snapshot = scene.snapshot(2)
    assert not keeps_normalised(snapshot)
    sums = snapshot.softmax.l_after[:, None]
    assert keeps_normalised(msgspec.structs.replace(snapshot, acc_after=snapshot.acc_after / sums))


def test_softmax_moves_at_stage_3(scene):
    softmax = scene.softmax(1, 1)
    before, after = shown_softmax(softmax, 2), shown_softmax(softmax, 3)
    np.testing.assert_array_equal(before.m, softmax.m_before)
    np.testing.assert_array_equal(before.kept, softmax.l_before)
    assert not before.added.any()
    np.testing.assert_allclose(after.kept + after.added, softmax.l_after, rtol=1e-6)
    np.testing.assert_allclose(after.kept, softmax.alpha * softmax.l_before)


def test_the_row_on_show_lies_in_the_current_block(scene):
    assert selected_row(scene.state(3, row=20)) == 20
    assert selected_row(scene.state(3, row=5)) == 16
    assert selected_row(scene.state(3)) == 16
