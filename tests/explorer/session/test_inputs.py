"""Built-in inputs: what the menu lists, and that each is what it says it is."""

from __future__ import annotations

import numpy as np
import pytest

from explorer.session import inputs
from explorer.session.config import Configuration
from explorer.session.inputs import InputError, load_inputs
from explorer.session.problem import build_problem
from kernels import cases, reference
from kernels.problem import ProblemError


def test_the_menu_has_three_groups_and_no_name_twice() -> None:
    listed = inputs.names()
    groups = list(dict.fromkeys(entry.group for entry in listed))
    assert groups == ["Real sentences", "Presets", "Shared cases"]
    assert len({entry.name for entry in listed}) == len(listed)
    assert [entry.name for entry in listed if entry.group == "Presets"] == ["normal", "needle", "peaked"]
    assert sum(entry.group == "Shared cases" for entry in listed) == len(cases.load())


@pytest.mark.parametrize("entry", inputs.names(), ids=lambda entry: entry.name)
def test_every_entry_gives_a_problem(entry: inputs.InputName) -> None:
    configuration = Configuration(input=entry.name)
    loaded = load_inputs(configuration)
    problem, blocks, q, k, v = build_problem(configuration, loaded)
    assert q.shape == (problem.batch, problem.heads, problem.q_len, problem.head_dim)
    assert k.shape == v.shape == (problem.batch, problem.kv_head_count, problem.kv_len, problem.head_dim)
    assert blocks.block_q <= problem.q_len
    assert blocks.block_kv <= problem.kv_len
    assert np.isfinite(q).all()
    assert loaded.source


def test_the_default_shows_row_blocks_and_skipped_tiles() -> None:
    configuration = Configuration()
    problem, blocks, *_ = build_problem(configuration, load_inputs(configuration))
    assert problem.causal
    assert -(-problem.q_len // blocks.block_q) >= 4
    assert problem.kv_len > blocks.block_kv


@pytest.mark.parametrize("case", cases.load(), ids=lambda case: case.name)
def test_shared_cases_have_their_right_values(case: cases.Case) -> None:
    configuration = Configuration(input=case.name)
    problem, blocks, q, k, v = build_problem(configuration, load_inputs(configuration))
    oracle = reference.oracle(problem, q, k, v)
    np.testing.assert_allclose(oracle.o[0, 0, :, 0], case.output, atol=2e-6)
    np.testing.assert_allclose(oracle.lse[0, 0], case.lse, rtol=2e-6)
    assert blocks.block_kv == case.blocks.block_kv


def test_a_seed_gives_the_same_numbers() -> None:
    one, same, other = (load_inputs(Configuration(input="normal", seed=seed)) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one.q, same.q)
    assert not np.array_equal(one.q, other.q)
    assert one.q[0, 0, 0, 0] != one.k[0, 0, 0, 0]


def test_normal_is_normal() -> None:
    q = load_inputs(Configuration(input="normal")).q
    assert abs(float(q.mean())) < 0.02
    assert abs(float(q.std()) - 1) < 0.02


def test_presets_have_the_sizes_asked_for() -> None:
    asked = Configuration(input="normal", q_len=5, kv_len=7, heads=6, kv_heads=3, head_dim=80, block_kv=512)
    problem, blocks, q, k, _ = build_problem(asked, load_inputs(asked))
    assert q.shape == (1, 6, 5, 80)
    assert k.shape == (1, 3, 7, 80)
    assert (blocks.block_q, blocks.block_kv) == (5, 7)
    assert problem.kv_heads == 3


def test_the_needle_is_found_by_every_query() -> None:
    configuration = Configuration(input="needle")
    problem, _, q, k, v = build_problem(configuration, load_inputs(configuration))
    probabilities = reference.oracle(problem, q, k, v).probabilities
    needle = int(0.7 * (problem.kv_len - 1))
    assert (probabilities.argmax(axis=-1) == needle).all()
    assert probabilities[..., needle].min() > 0.5


def test_peaked_rows_see_themselves_with_and_without_a_mask() -> None:
    results = []
    for mask in ("none", "causal"):
        configuration = Configuration(input="peaked", mask=mask)
        problem, _, q, k, v = build_problem(configuration, load_inputs(configuration))
        assert problem.scale == 1.0
        results.append(reference.oracle(problem, q, k, v).o)
    np.testing.assert_allclose(results[0], results[1], atol=1e-6)


def test_preset_masks() -> None:
    asked = Configuration(input="normal", mask="array", q_len=40, kv_len=60)
    problem, *_ = build_problem(asked, load_inputs(asked))
    assert problem.mask is not None
    assert problem.mask.shape == (1, 1, 40, 60)
    assert 0.7 < problem.mask.mean() < 0.9
    assert problem.mask[0, 0].any(axis=1).all()
    asked = Configuration(input="normal", mask="segments")
    problem, *_ = build_problem(asked, load_inputs(asked))
    assert problem.q_segment_ids is not None
    assert set(problem.q_segment_ids.ravel().tolist()) == {0, 1, 2}


def test_unknown_names_are_answered_with_the_known() -> None:
    with pytest.raises(InputError, match=r"input 'norml' is not known: use sentence-en, .*normal.*\.npz"):
        load_inputs(Configuration(input="norml"))


@pytest.mark.parametrize("field", ["q_len", "kv_len", "heads", "kv_heads", "head_dim", "block_q", "block_kv"])
def test_presets_refuse_sizes_of_zero(field: str) -> None:
    with pytest.raises(ProblemError, match=rf"{field.replace('_', '-')} 0 is not possible"):
        load_inputs(Configuration(input="normal", **{field: 0}))


def test_presets_refuse_what_memory_does_not_hold() -> None:
    with pytest.raises(ProblemError, match=r"q-len .* needs about .* TiB.* use lengths up to"):
        load_inputs(Configuration(input="normal", q_len=10**8, kv_len=10**8))
