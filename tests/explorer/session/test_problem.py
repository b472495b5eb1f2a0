"""From settings and inputs to problems: crops, masks, defaults, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from explorer.session.attention_inputs import AttentionInputs
from explorer.session.config import MASKS, Configuration
from explorer.session.problem import build_problem, clamped_note
from kernels import masks
from kernels.problem import ProblemError

BATCH, HEADS, KV_HEADS, Q_LEN, KV_LEN, DIM = 2, 4, 2, 6, 10, 8


def make_inputs(**changes: Any) -> AttentionInputs:
    rng = np.random.default_rng(0)
    q = rng.standard_normal((BATCH, HEADS, Q_LEN, DIM)).astype(np.float32)
    k, v = (rng.standard_normal((BATCH, KV_HEADS, KV_LEN, DIM)).astype(np.float32) for _ in range(2))
    return AttentionInputs(name="test", title="test", q=q, k=k, v=v, **changes)


def test_open_settings_take_what_suits_the_input() -> None:
    defaults = {"block_q": 3, "block_kv": 4, "mask": "causal", "dtype": "bfloat16", "scale": 2.0}
    problem, blocks, *_ = build_problem(Configuration(), make_inputs(defaults=defaults))
    assert (blocks.block_q, blocks.block_kv) == (3, 4)
    assert (problem.causal, problem.dtype, problem.scale) == (True, "bfloat16", 2.0)


def test_asked_for_settings_win() -> None:
    defaults = {"block_q": 3, "mask": "causal", "scale": 2.0}
    asked = Configuration(block_q=2, mask="none", scale=0.5, softcap=5.0, dtype="bfloat16", empty_rows="nan")
    problem, blocks, *_ = build_problem(asked, make_inputs(defaults=defaults))
    assert (blocks.block_q, problem.causal, problem.scale, problem.softcap) == (2, False, 0.5, 5.0)
    assert (problem.dtype, problem.empty_rows) == ("bfloat16", "nan")


def test_crops_take_the_first() -> None:
    inputs = make_inputs()
    asked = Configuration(q_len=2, kv_len=3, heads=2, head_dim=5)
    problem, _, q, k, v = build_problem(asked, inputs)
    np.testing.assert_array_equal(q, inputs.q[:, :2, :2, :5])
    np.testing.assert_array_equal(k, inputs.k[:, :1, :3, :5])
    np.testing.assert_array_equal(v, inputs.v[:, :1, :3, :5])
    assert (problem.heads, problem.kv_heads, problem.scale_in_force) == (2, 1, 5**-0.5)
    assert q.flags.c_contiguous


def test_cropped_heads_read_the_same_kv_heads() -> None:
    for heads in (1, 2, 4):
        problem, *_ = build_problem(Configuration(heads=heads), make_inputs())
        group = problem.heads // problem.kv_head_count
        assert [head // group for head in range(heads)] == [head // (HEADS // KV_HEADS) for head in range(heads)]


def test_what_goes_with_the_arrays_is_cropped_too() -> None:
    mask = np.arange(BATCH * Q_LEN * KV_LEN).reshape(BATCH, 1, Q_LEN, KV_LEN) % 3 > 0
    bias = np.arange(HEADS, dtype=np.float32).reshape(1, HEADS, 1, 1)
    inputs = make_inputs(mask=mask, bias=bias, kv_lengths=np.array([10, 2], np.int32))
    problem, *_ = build_problem(Configuration(q_len=2, kv_len=3, heads=2), inputs)
    assert problem.mask is not None
    np.testing.assert_array_equal(problem.mask, mask[:, :, :2, :3])
    assert problem.bias is not None
    np.testing.assert_array_equal(problem.bias, bias[:, :2])
    assert problem.kv_lengths is not None
    assert problem.kv_lengths.tolist() == [3, 2]


def expected_pairs(mask: str, window: tuple[int | None, int | None] | None, inputs: AttentionInputs) -> np.ndarray:
    """bool (Q_LEN, KV_LEN) of batch 0, head 0, straight from the definitions."""
    i, j = np.arange(Q_LEN)[:, None], np.arange(KV_LEN)[None]
    shift = KV_LEN - Q_LEN if mask == "causal-bottom-right" else 0
    allowed = np.ones((Q_LEN, KV_LEN), bool)
    if mask.startswith("causal"):
        allowed &= j <= i + shift
    if window is not None:
        left, right = window
        allowed &= (left is None) | (j >= i + shift - (left or 0))
        allowed &= (right is None) | (j <= i + shift + (right or 0))
    if mask == "segments":
        assert inputs.q_segment_ids is not None
        assert inputs.kv_segment_ids is not None
        allowed &= inputs.q_segment_ids[0][:, None] == inputs.kv_segment_ids[0][None]
    if mask == "array":
        assert inputs.mask is not None
        allowed &= inputs.mask[0, 0]
    return allowed


_sides = st.none() | st.integers(0, 12)


@given(mask=st.sampled_from(MASKS), window=st.none() | st.tuples(_sides, _sides))
def test_masks_allow_the_pairs_that_they_mean(mask: str, window: tuple[int | None, int | None] | None) -> None:
    rng = np.random.default_rng(1)
    inputs = make_inputs(
        mask=rng.random((1, 1, Q_LEN, KV_LEN)) > 0.5,
        q_segment_ids=rng.integers(0, 2, (BATCH, Q_LEN), np.int32),
        kv_segment_ids=rng.integers(0, 2, (BATCH, KV_LEN), np.int32),
    )
    configuration = Configuration(mask=mask, window=window)
    if (window is None and mask == "window") or (window and mask in ("none", "segments", "array")):
        with pytest.raises(ProblemError, match="window"):
            build_problem(configuration, inputs)
        return
    problem, *_ = build_problem(configuration, inputs)
    allowed = masks.allowed(problem, 0, 0, slice(0, Q_LEN), slice(0, KV_LEN))
    np.testing.assert_array_equal(allowed, expected_pairs(mask, window, inputs))


def test_a_window_alone_is_mask_window() -> None:
    problem, *_ = build_problem(Configuration(window=(2, 0)), make_inputs(defaults={"mask": "causal"}))
    assert (problem.window, problem.causal) == ((2, 0), False)


def test_an_input_with_a_window_of_its_own() -> None:
    inputs = make_inputs(defaults={"mask": "window", "window": (1, 0)})
    assert build_problem(Configuration(), inputs)[0].window == (1, 0)
    assert build_problem(Configuration(mask="causal"), inputs)[0].window is None


def test_an_open_mask_is_all_that_the_input_carries() -> None:
    ids = {"q_segment_ids": np.zeros((2, Q_LEN), np.int32), "kv_segment_ids": np.ones((2, KV_LEN), np.int32)}
    inputs = make_inputs(mask=np.ones((1, 1, Q_LEN, KV_LEN), bool), padding_id=7, **ids)
    problem, *_ = build_problem(Configuration(), inputs)
    assert problem.mask is not None
    assert problem.q_segment_ids is not None
    assert problem.padding_id == 7
    problem, *_ = build_problem(Configuration(mask="none"), inputs)
    assert problem.mask is None
    assert problem.q_segment_ids is None


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"q_len": 7}, ["q-len 7", "6 queries", "at most 6"]),
        ({"kv_len": 11}, ["kv-len 11", "10 keys"]),
        ({"heads": 5}, ["heads 5", "at most 4"]),
        ({"heads": 3}, ["heads 3", "groups of 2", "2, 4"]),
        ({"kv_heads": 3}, ["kv-heads 3", "at most 2"]),
        ({"heads": 3, "kv_heads": 2}, ["kv-heads 2 does not divide heads 3", "use 1"]),
        ({"head_dim": 9}, ["head-dim 9", "at most 8"]),
        ({"q_len": 0}, ["q-len 0"]),
        ({"block_q": 0}, ["block-q 0", "1 or more"]),
        ({"block_kv": -4}, ["block-kv -4"]),
        ({"scale": float("nan")}, ["scale nan"]),
        ({"scale": 0.0}, ["scale is 0"]),
        ({"softcap": -1.0}, ["softcap"]),
        ({"mask": "segments"}, ["mask segments", "q_segment_ids"]),
        ({"mask": "array"}, ["mask array"]),
        ({"mask": "diagonal"}, ["mask 'diagonal'", "causal"]),
        ({"mask": "window"}, ["mask window needs window"]),
        ({"mask": "none", "window": (1, 1)}, ["window is not used by mask none"]),
        ({"dtype": "float16"}, ["dtype 'float16'"]),
    ],
)
def test_refusals_name_the_thing(settings: dict[str, Any], words: list[str]) -> None:
    with pytest.raises(ProblemError) as caught:
        build_problem(Configuration(**settings), make_inputs())
    assert "\n" not in str(caught.value)
    for word in words:
        assert word in str(caught.value)


def test_tiles_larger_than_the_sequence_are_said_to_be_clamped() -> None:
    configuration = Configuration(block_q=64, block_kv=512)
    _, blocks, *_ = build_problem(configuration, make_inputs())
    assert (blocks.block_q, blocks.block_kv) == (Q_LEN, KV_LEN)
    assert clamped_note(configuration, blocks) == "block-q 64 is now 6 and block-kv 512 is now 10, the whole sequence"
    assert clamped_note(Configuration(), blocks) == ""
