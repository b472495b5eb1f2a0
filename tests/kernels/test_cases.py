"""The shared cases: read as they are, fed as they should be, and wrong in the way each names."""

import json
from importlib.resources import files

import numpy as np
import pytest

from kernels import cases, masks, reference

ALL = {case.name: case for case in cases.load()}


def test_every_case_of_the_file_is_there():
    entries = json.loads(files("assets").joinpath("cases/cases.json").read_text())
    assert list(ALL) == [entry["name"] for entry in entries]
    assert len(ALL) == 16


@pytest.mark.parametrize("name", ALL)
def test_the_oracle_gives_the_values_of_the_file(name):
    case = ALL[name]
    found = reference.oracle(case.problem, case.q, case.k, case.v)
    np.testing.assert_allclose(found.o[0, 0], np.tile(case.output[:, None], case.problem.head_dim), atol=1e-6)
    np.testing.assert_allclose(found.lse[0, 0], case.lse, atol=1e-6)


@pytest.mark.parametrize("name", ALL)
def test_q_and_k_give_the_scores_exactly_and_the_rule_gives_the_pairs(name):
    case = ALL[name]
    entry = next(e for e in json.loads(files("assets").joinpath("cases/cases.json").read_text()) if e["name"] == name)
    np.testing.assert_array_equal((case.q @ case.k.swapaxes(2, 3))[0, 0], np.asarray(entry["scores"], np.float32))
    pairs = masks.allowed(case.problem, 0, 0, slice(None), slice(None))
    np.testing.assert_array_equal(pairs, True if case.allowed is None else case.allowed)


def tiled(scores, values, block, rescale=True, zero_pad=False):
    """One row of online softmax in float64, with two mistakes to switch on."""
    if zero_pad:
        spare = -len(scores) % block
        scores, values = np.append(scores, np.zeros(spare)), np.append(values, np.zeros(spare))
    m, l, acc = -np.inf, 0.0, 0.0  # noqa: E741
    for start in range(0, len(scores), block):
        s, v = scores[start : start + block], values[start : start + block]
        m_new = max(m, s.max())
        alpha = np.exp(m - m_new) if rescale else 1.0
        p = np.exp(s - m_new)
        m, l, acc = m_new, alpha * l + p.sum(), alpha * acc + p @ v  # noqa: E741
    return acc / l


@pytest.mark.parametrize("mistake", ["no rescale", "zero pad"])
def test_the_wrong_values_are_what_the_mistakes_give(mistake):
    told = [case for case in ALL.values() if mistake in case.wrong]
    assert told
    for case in told:
        scores, values = case.k[0, 0, :, 0].astype(float), case.v[0, 0, :, 0].astype(float)
        block = case.blocks.block_kv
        assert tiled(scores, values, block) == pytest.approx(case.output[0], abs=1e-6)
        switched = {"rescale": False} if mistake == "no rescale" else {"zero_pad": True}
        assert tiled(scores, values, block, **switched) == pytest.approx(case.wrong[mistake], abs=1e-6)


def test_descending_scores_cannot_reveal_a_missing_rescale():
    case = ALL["rescale-descending"]
    scores, values = case.k[0, 0, :, 0].astype(float), case.v[0, 0, :, 0].astype(float)
    assert tiled(scores, values, 2, rescale=False) == tiled(scores, values, 2)
