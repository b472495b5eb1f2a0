"""Problems are validated and normalised when they are made."""

import ml_dtypes
import numpy as np
import pytest

from kernels.problem import AttentionProblem, ProblemError

SIZES = {"q_len": 4, "kv_len": 6, "head_dim": 8}
IDS_Q, IDS_KV = np.zeros((1, 4), np.int64), np.zeros((1, 6), np.int64)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"q_len": 0}, ["q_len is 0", "1 or more"]),
        ({"kv_len": -3}, ["kv_len is -3"]),
        ({"head_dim": 2.5}, ["head_dim is 2.5", "whole number"]),
        ({"batch": True}, ["batch is True", "whole number"]),
        ({"heads": "two"}, ["heads is 'two'"]),
        ({"heads": 6, "kv_heads": 4}, ["6 query heads", "4 kv heads", "1, 2, 3, 6"]),
        ({"kv_heads": 0}, ["kv_heads is 0"]),
        ({"dtype": "float16"}, ["float16", "float32, bfloat16"]),
        ({"scale": 0}, ["scale is 0", "default"]),
        ({"scale": float("nan")}, ["scale is nan", "finite"]),
        ({"scale": float("inf")}, ["scale is inf", "finite"]),
        ({"scale": "big"}, ["scale is 'big'"]),
        ({"softcap": 0.0}, ["softcap is 0.0", "positive"]),
        ({"softcap": -1}, ["softcap is -1.0", "positive"]),
        ({"softcap": float("inf")}, ["softcap is inf", "none for no cap"]),
        ({"causal": 1}, ["causal is 1", "True or False"]),
        ({"alignment": "middle"}, ["middle", "top-left, bottom-right"]),
        ({"empty_rows": "one"}, ["'one'", "zero, mean-v, nan"]),
        ({"window": 3}, ["window is 3", "(left, right)"]),
        ({"window": (1, 2, 3)}, ["(left, right)"]),
        ({"window": (-1, 0)}, ["window left is -1", "0 or more"]),
        ({"window": (None, -2)}, ["window right is -2"]),
        ({"q_segment_ids": IDS_Q}, ["q_segment_ids came without kv_segment_ids", "both, or neither"]),
        ({"kv_segment_ids": IDS_KV}, ["kv_segment_ids came without q_segment_ids"]),
        ({"q_segment_ids": IDS_KV, "kv_segment_ids": IDS_KV}, ["q_segment_ids has shape (1, 6)", "(1, 4)"]),
        ({"q_segment_ids": IDS_Q * 1.0, "kv_segment_ids": IDS_KV}, ["float64", "integers"]),
        ({"q_segment_ids": IDS_Q + 2**40, "kv_segment_ids": IDS_KV}, ["outside int32"]),
        ({"padding_id": 0}, ["padding_id came without segment ids"]),
        ({"kv_lengths": [7]}, ["kv_lengths are 7", "0..6"]),
        ({"kv_lengths": [-1]}, ["kv_lengths are -1"]),
        ({"kv_lengths": [3, 3]}, ["kv_lengths has shape (2,)", "(1,)"]),
        ({"mask": np.ones((1, 1, 4, 6))}, ["mask has dtype float64", "True where"]),
        ({"mask": np.ones((4, 6), bool)}, ["mask has shape (4, 6)", "four dimensions"]),
        ({"mask": np.ones((1, 2, 4, 6), bool)}, ["(1, 2, 4, 6)", "(1, 1, 4, 6)"]),
        ({"bias": np.zeros((1, 1, 4, 5), np.float32)}, ["bias has shape (1, 1, 4, 5)"]),
        ({"bias": np.zeros((1, 1, 4, 6), int)}, ["bias has dtype int64", "floating-point"]),
        ({"bias": np.full((1, 1, 1, 1), np.nan)}, ["bias holds NaN", "-inf"]),
        ({"bias": np.full((1, 1, 1, 1), np.inf)}, ["+inf"]),
    ],
)
def test_what_cannot_be_computed_is_refused_with_what_would_do(changes, words):
    with pytest.raises(ProblemError) as refusal:
        AttentionProblem(**{**SIZES, **changes})
    for word in words:
        assert word in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_arrays_become_read_only_copies_of_the_documented_types():
    ids = np.zeros((1, 4), np.int64)
    mask = np.ones((6, 4, 1, 1), bool).T
    problem = AttentionProblem(
        **SIZES,
        q_segment_ids=ids,
        kv_segment_ids=IDS_KV,
        kv_lengths=[5],
        mask=mask,
        bias=np.zeros((1, 1, 1, 6), ml_dtypes.bfloat16),
    )
    types = {"q_segment_ids": np.int32, "kv_segment_ids": np.int32, "kv_lengths": np.int32, "mask": bool}
    for name, dtype in {**types, "bias": np.float32}.items():
        array = getattr(problem, name)
        assert array.dtype == dtype
        assert array.flags.c_contiguous
        assert not array.flags.writeable
    ids[0, 0] = 9
    assert problem.q_segment_ids[0, 0] == 0
    assert ids.flags.writeable
    assert mask.flags.writeable


def test_replace_validates_again_and_shares_arrays():
    problem = AttentionProblem(**SIZES, mask=np.ones((1, 1, 4, 6), bool))
    causal = problem.replace(causal=True)
    assert causal.causal
    assert causal.mask is problem.mask
    with pytest.raises(ProblemError, match="mask has shape"):
        problem.replace(q_len=5)


def test_defaults_in_force():
    problem = AttentionProblem(**SIZES, heads=4)
    assert (problem.kv_head_count, problem.group, problem.shift) == (4, 1, 0)
    assert problem.scale_in_force == 8**-0.5
    assert problem.replace(scale=1).scale_in_force == 1.0
    assert problem.replace(kv_heads=2).group == 2
    assert problem.replace(alignment="bottom-right").shift == 2
    assert problem.replace(window=(None, None)).window is None
    assert problem.replace(window=[1, None]).window == (1, None)
