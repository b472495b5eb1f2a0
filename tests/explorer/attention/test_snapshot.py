"""What a snapshot says of a step, against a float64 computation of the same tile made here."""

from __future__ import annotations

import numpy as np
import pytest

from kernels import reference


def float64_prefix(bench, head: int, rows: slice, keys: int):
    return reference.oracle_rows(bench.problem, bench.q, bench.k, bench.v, 0, head, rows, keys)


@pytest.mark.parametrize("step", [0, 1, 7, 12, 14, 20, 29])
def test_a_computed_step_shows_the_running_softmax_of_the_keys_seen_so_far(causal, step):
    shown = causal.goto(step)
    if not shown.computed:
        pytest.skip("a skipped tile shows no scores")
    rows = slice(*shown.q_range)
    expected = float64_prefix(causal, shown.head, rows, shown.kv_range[1])
    np.testing.assert_allclose(shown.softmax.m_after, expected.m, rtol=1e-5, atol=1e-5)
    np.testing.assert_allclose(shown.softmax.l_after, expected.l, rtol=1e-5)
    np.testing.assert_allclose(shown.acc_after / shown.softmax.l_after[:, None], expected.o, atol=1e-5)
    tile = expected.scores[:, slice(*shown.kv_range)]
    np.testing.assert_allclose(shown.scores, tile, atol=1e-5)
    np.testing.assert_allclose(shown.probabilities, np.exp(tile - expected.m[:, None]), atol=1e-5)
    np.testing.assert_array_equal(shown.allowed, np.isfinite(tile))


def test_the_recurrence_holds_between_before_and_after(causal):
    for step in range(causal.configured.steps):
        shown = causal.goto(step)
        softmax = shown.softmax
        expected = softmax.alpha * softmax.l_before + softmax.new_sum
        np.testing.assert_allclose(softmax.l_after, expected, rtol=1e-5)
        acc = softmax.alpha[:, None] * shown.acc_before
        if shown.computed:
            keys = slice(*shown.kv_range)
            acc = acc + shown.probabilities @ causal.v[0, 0, keys]
        np.testing.assert_allclose(shown.acc_after, acc, atol=1e-5)


def test_a_row_block_starts_from_nothing_and_each_step_from_the_last_one(causal):
    before = None
    for step in range(10):
        shown = causal.goto(step)
        if before is None or shown.kv_block == 0:
            assert np.isneginf(shown.softmax.m_before).all()
            assert (shown.softmax.l_before == 0).all()
        else:
            np.testing.assert_array_equal(shown.softmax.m_before, before.softmax.m_after)
            np.testing.assert_array_equal(shown.acc_before, before.acc_after)
        before = shown


def test_back_and_jump_show_what_forward_showed(causal):
    forward = [causal.goto(step) for step in range(causal.configured.steps)]
    for step in (17, 3, 29, 0, 28, 11):
        again = causal.goto(step)
        np.testing.assert_array_equal(again.output, forward[step].output)
        np.testing.assert_array_equal(again.softmax.l_after, forward[step].softmax.l_after)
        np.testing.assert_array_equal(again.error_float64, forward[step].error_float64)
        assert again.hbm_moved == forward[step].hbm_moved
        assert again.stages == forward[step].stages


def test_output_is_written_in_progress_or_to_come(causal):
    steps_of_row = causal.configured.grid[3]
    shown = causal.goto(steps_of_row)  # first step of the second row block of head 0
    done = shown.output_done
    assert (done[:16] == 2).all()
    assert (done[16:32] == 1).all()
    assert (done[32:] == 0).all()
    assert np.isnan(shown.output[32:]).all()
    expected = reference.oracle(causal.problem, causal.q, causal.k, causal.v).o[0, 0]
    np.testing.assert_allclose(shown.output[:16], expected[:16], atol=1e-6)
    assert np.nanmax(shown.error_float64) < 1e-6
    assert np.isnan(shown.error_float64[32:]).all()
    assert np.isnan(shown.error_naive[16:]).all()


def test_the_end_of_a_head_is_the_oracles_output(causal):
    for head in (0, 1):
        last = (head + 1) * causal.configured.steps // 2 - 1
        shown = causal.goto(last)
        assert shown.head == head
        assert (shown.output_done == 2).all()
        expected = reference.oracle(causal.problem, causal.q, causal.k, causal.v).o[0, head]
        np.testing.assert_allclose(shown.output, expected, atol=1e-6)
        assert shown.tiles_done == shown.tiles_total


def test_a_skipped_tile_says_so_and_moves_nothing(causal):
    shown = causal.goto(4)  # query rows 0 to 15 meet keys 32 to 39
    assert not shown.computed
    assert shown.scores is None
    assert shown.probabilities is None
    assert not shown.allowed.any()
    assert [t for t in shown.transfers if t.direction == "in"] == []
    np.testing.assert_array_equal(shown.softmax.m_before, shown.softmax.m_after)


def test_arrays_are_cropped_to_real_rows_and_keys(bench):
    ragged = bench("flash", 8, 16, 11, 21, 1, 1)
    shown = ragged.goto(ragged.configured.steps - 1)
    assert shown.q_range == (8, 11)
    assert shown.kv_range == (16, 21)
    assert shown.scores.shape == (3, 5)
    assert shown.softmax.m_after.shape == (3,)
    assert shown.acc_after.shape == (3, 16)
    assert np.isfinite(shown.output).all()


def test_hbm_moved_adds_up_and_ends_at_the_total(causal):
    moved = 0
    for step in range(causal.configured.steps):
        shown = causal.goto(step)
        moved += sum(t.bytes for t in shown.transfers)
        assert shown.hbm_moved == moved
    assert moved == causal.configured.memory.hbm_moved


def test_vmem_live_never_exceeds_the_peak(causal):
    peak = causal.configured.memory.vmem_peak
    live = [causal.goto(step).vmem_live for step in range(causal.configured.steps)]
    assert max(live) <= peak
    assert min(live) > 0


def test_probed_values_name_the_source_line_and_the_stage(causal):
    values = {v.name: v for v in causal.goto(0).values if v.name}
    assert set(values) == {"S", "P", "m_new", "alpha", "l_new", "acc_new"}
    assert values["P"].stage == 3
    assert values["acc_new"].stage == 4
    assert values["S"].file.endswith("kernel.py")
    assert values["S"].line > 0
    assert values["P"].minimum == 0.0
    assert values["P"].maximum == 1.0


def test_a_step_outside_the_run_is_refused_in_words(causal):
    with pytest.raises(Exception, match="steps 0 to 29"):
        causal.goto(30)


def test_jax_flash_shows_the_same_running_softmax(bench):
    theirs = bench("jax-flash", 128, 128, 256, 256, 1, 1, causal=True, head_dim=128)
    for step in range(theirs.configured.steps):
        shown = theirs.goto(step)
        expected = float64_prefix(theirs, 0, slice(*shown.q_range), 128 if shown.kv_block == 0 else 256)
        np.testing.assert_allclose(shown.softmax.m_after, expected.m, atol=1e-4)
        np.testing.assert_allclose(shown.softmax.l_after, expected.l, rtol=1e-4)
        known = shown.error_float64[np.isfinite(shown.error_float64)]
        assert known.size
        assert known.max() < 1e-5
        assert all(stage.holds is not False for stage in shown.stages)


def test_an_unnamed_kernel_shows_values_by_line_and_claims_nothing(bench):
    theirs = bench("jax-splash", 128, 128, 256, 256, 1, 1, causal=True, head_dim=128)
    shown = theirs.goto(1)
    assert theirs.configured.lens == ""
    assert shown.softmax is None
    assert shown.scores is None
    assert [stage.holds for stage in shown.stages] == [None] * 5
    assert any(value.executed and value.line > 0 for value in shown.values)
    assert any(t.direction == "in" for t in theirs.goto(0).transfers)
