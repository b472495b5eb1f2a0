"""The attention matrix as the window gets it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from explorer.attention import references
from explorer.attention.errors import WorkbenchError
from explorer.attention.matrix import pooled
from explorer.link.messages import GetMatrix
from kernels import reference


def picture(bench, kind: str, step: int, head: int = 0):
    request = GetMatrix(id=3, kind=kind, batch=0, head=head, step=step)
    return bench.workbench.matrix(request, lambda *_: None)


def oracle(bench):
    return reference.oracle(bench.problem, bench.q, bench.k, bench.v)


@pytest.mark.parametrize("head", [0, 1])
def test_naive_pictures_are_those_of_the_head(causal, head):
    scores = picture(causal, "naive-scores", 0, head)
    probabilities = picture(causal, "naive-probabilities", 0, head)
    np.testing.assert_allclose(scores.values, oracle(causal).scores[0, head], atol=1e-5)
    np.testing.assert_allclose(probabilities.values, oracle(causal).probabilities[0, head], atol=1e-6)
    np.testing.assert_array_equal(scores.allowed, np.tril(np.ones((40, 40), bool)))
    finite = scores.values[np.isfinite(scores.values)]
    assert (scores.low, scores.high) == (finite.min(), finite.max())


def test_the_kernels_own_p_covers_the_tiles_up_to_the_step(causal):
    step = 6  # second row block, keys 8 to 15
    shown = picture(causal, "flash-probabilities", step).values
    known = ~np.isnan(shown)
    assert known[:16, :16].all()
    assert known[16:32, :16].all()
    assert not known[16:32, 16:].any()
    assert not known[32:].any()


def test_the_difference_is_small_where_rows_are_finished_and_unknown_elsewhere(causal):
    shown = picture(causal, "difference", 6)
    assert np.abs(shown.values[:16]).max() < shown.high
    assert np.isnan(shown.values[16:]).all()
    whole = picture(causal, "difference", 14)
    assert np.isfinite(whole.values).all()


def test_a_kernel_whose_p_is_wrong_shows_in_the_difference(causal):
    """The picture must come from what ran: spoil the kept P and see it."""
    picture(causal, "difference", 14)
    kept = causal.workbench._driven()[1].probabilities
    rows, keys, tile, m = kept[0]
    kept[0] = (rows, keys, tile * 1.01, m)
    spoiled = picture(causal, "difference", 14)
    assert np.abs(spoiled.values[rows, keys]).max() > 100 * spoiled.high
    kept[0] = (rows, keys, tile, m)


def test_levels_do_not_depend_on_the_step(causal):
    for kind in ("naive-scores", "naive-probabilities", "flash-probabilities", "difference"):
        levels = {(p.low, p.high, p.scale) for p in (picture(causal, kind, step) for step in (0, 14))}
        assert len(levels) == 1


def test_a_kernel_without_a_lens_has_no_p_of_its_own(bench):
    naive = bench("naive", 8, 8, 16, 16, 1, 1)
    with pytest.raises(WorkbenchError, match="cannot name P"):
        picture(naive, "flash-probabilities", 0)


def test_a_head_that_there_is_not_is_refused(causal):
    with pytest.raises(WorkbenchError, match="no batch 0, head 2"):
        picture(causal, "naive-scores", 0, head=2)


def test_naive_above_the_budget_is_refused_with_sizes(causal, monkeypatch):
    monkeypatch.setattr(references, "NAIVE_BUDGET_BYTES", 1000)
    assert "12.5 KiB" in causal.workbench._configured().references.naive_refusal()
    with pytest.raises(WorkbenchError, match=r"12\.5 KiB for S and P of one head"):
        picture(causal, "naive-scores", 0)


def test_pooling_takes_the_maximum_and_keeps_the_unknown():
    values = np.arange(30, dtype=np.float32).reshape(5, 6)
    values[0, 0] = np.nan
    values[4, 4:] = np.nan
    shown = pooled(values, 2)
    expected = [[7, 9, 11], [19, 21, 23], [25, 27, np.nan]]
    np.testing.assert_array_equal(shown, expected)
    assert pooled(values, 1) is values
    np.testing.assert_array_equal(pooled(np.eye(3, dtype=bool), 2), [[True, False], [False, True]])


def test_head_problem_cuts_every_array(causal):
    rng = np.random.default_rng(0)
    problem = dataclasses.replace(
        causal.problem,
        batch=2,
        mask=rng.random((2, 1, 40, 40)) > 0.5,
        bias=rng.standard_normal((1, 2, 40, 40)).astype(np.float32),
        kv_lengths=np.array([10, 20], np.int32),
    )
    one = references.head_problem(problem, 1, 1)
    assert (one.batch, one.heads) == (1, 1)
    np.testing.assert_array_equal(one.mask[0, 0], problem.mask[1, 0])
    np.testing.assert_array_equal(one.bias[0, 0], problem.bias[0, 1])
    assert list(one.kv_lengths) == [20]
