"""The flash kernel against the shared cases and, on problems that hypothesis makes up, against float64."""

import numpy as np
import pytest
from hypothesis import given, strategies as st

from kernels import cases
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

ALL_CASES = cases.load()


@pytest.mark.parametrize("case", ALL_CASES, ids=lambda case: case.name)
def test_shared_cases(case, run):
    o, lse = run("flash", case.problem, case.blocks, case.q, case.k, case.v)
    np.testing.assert_allclose(o[0, 0], np.tile(case.output[:, None], case.problem.head_dim), atol=2e-6)
    np.testing.assert_allclose(lse[0, 0], case.lse, rtol=2e-7, atol=2e-6)


BY_RULE = [case for case in ALL_CASES if case.name in ("causal-bottom-right-2x5", "window-1-0")]


@pytest.mark.parametrize("case", BY_RULE, ids=lambda case: case.name)
def test_shared_cases_by_mask_array_and_one_query_a_block(case, run):
    problem = case.problem.replace(causal=False, window=None, mask=case.allowed[None, None])
    o, lse = run("flash", problem, BlockSizes(1, case.blocks.block_kv), case.q, case.k, case.v)
    np.testing.assert_allclose(o[0, 0, :, 0], case.output, atol=2e-6)
    np.testing.assert_allclose(lse[0, 0], case.lse, atol=2e-6)


@pytest.mark.parametrize(("policy", "first_row"), [("mean-v", 2.5), ("nan", np.nan)])
def test_fully_masked_row_under_the_other_policies(policy, first_row, run):
    case = next(c for c in ALL_CASES if c.name == "fully-masked-row")
    o, lse = run("flash", case.problem.replace(empty_rows=policy), case.blocks, case.q, case.k, case.v)
    np.testing.assert_allclose(o[0, 0, :, 0], [first_row, case.output[1]], atol=2e-6)
    np.testing.assert_allclose(lse[0, 0], case.lse, atol=2e-6)


@st.composite
def problems(draw) -> tuple[AttentionProblem, BlockSizes, int]:
    """Any lengths to 300, any tiles, shared heads, both dtypes, and every mask alone or with others."""
    q_len, kv_len = draw(st.integers(1, 300)), draw(st.integers(1, 300))
    batch = draw(st.sampled_from([1, 1, 2]))
    kv_heads, group = draw(st.sampled_from([(1, 1), (1, 3), (2, 2)]))
    heads = kv_heads * group
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    kinds = draw(st.sets(st.sampled_from(["causal", "window", "segments", "lengths", "mask", "bias", "softcap"])))
    extra = {}
    if "window" in kinds:
        extra["window"] = draw(st.tuples(*[st.none() | st.integers(0, 200)] * 2))
    if "segments" in kinds:
        ids = [np.sort(rng.integers(0, 4, (batch, n)), axis=1) for n in (q_len, kv_len)]
        extra |= {"q_segment_ids": ids[0], "kv_segment_ids": ids[1], "padding_id": draw(st.sampled_from([None, 3]))}
    if "lengths" in kinds:
        extra["kv_lengths"] = rng.integers(0, kv_len + 1, batch)
    for name in {"mask", "bias"} & kinds:
        shape = [draw(st.sampled_from([1, n])) for n in (batch, heads, q_len, kv_len)]
        extra[name] = rng.random(shape) < 0.7 if name == "mask" else rng.standard_normal(shape).astype(np.float32)
    problem = AttentionProblem(
        q_len=q_len,
        kv_len=kv_len,
        head_dim=draw(st.sampled_from([1, 16, 64, 80])),
        batch=batch,
        heads=heads,
        kv_heads=kv_heads,
        dtype=draw(st.sampled_from(["float32", "bfloat16"])),
        causal="causal" in kinds,
        alignment=draw(st.sampled_from(["top-left", "bottom-right"])),
        softcap=2.0 if "softcap" in kinds else None,
        empty_rows=draw(st.sampled_from(["zero", "mean-v", "nan"])),
        **extra,
    )
    blocks = BlockSizes(draw(st.integers(8, 160)), draw(st.integers(8, 160)))
    return problem, blocks, int(rng.integers(2**32))


@given(drawn=problems())
def test_any_problem_against_float64(drawn, judge):
    problem, blocks, seed = drawn
    judged = judge("flash", problem, blocks, seed=seed)
    # float32: a few dozen roundings. bfloat16: P and O are each rounded to 8 bits, half a unit of them is 2 ** -9.
    largest = np.nanmax(np.abs(judged.right.o), initial=1.0) + 4.0
    assert judged.o_error <= (2e-5 if problem.dtype == "float32" else 2**-8 * largest)
    assert judged.lse_error <= 2e-5
