"""Kernels of others under the same contract: right where they say they can, and refusing by name where they cannot."""

import jax
import numpy as np
import pytest

from kernels import catalog
from kernels.catalog import Unsupported
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem, ProblemError

RNG = np.random.default_rng(5)
IDS = np.sort(RNG.integers(0, 4, (2, 256)), axis=1)
BIAS = RNG.standard_normal((1, 2, 1, 256)).astype(np.float32)
HIDING = np.where(RNG.random((1, 1, 256, 256)) < 0.5, -np.inf, np.float32(0))
HIDING[:, :, 7] = -np.inf
HOLES = RNG.random((1, 1, 256, 256)) < 0.6
BASE = {"q_len": 256, "kv_len": 256, "head_dim": 64}

PROBLEMS = {
    "causal": {"causal": True, "scale": 0.2},
    "bfloat16": {"q_len": 100, "causal": True, "dtype": "bfloat16"},
    "grouped": {"causal": True, "heads": 4, "kv_heads": 2, "batch": 2, "softcap": 3.0},
    "segments": {"q_segment_ids": IDS, "kv_segment_ids": IDS, "padding_id": 3, "batch": 2, "empty_rows": "mean-v"},
    "window": {"q_len": 384, "causal": True, "alignment": "bottom-right", "window": (100, None)},
    "array": {"mask": HOLES, "heads": 2},
    "bias": {"bias": BIAS, "heads": 2, "head_dim": 80},
    "hiding bias": {"bias": HIDING, "empty_rows": "mean-v"},
    "ragged": {"kv_len": 300, "head_dim": 80},
    "lengths": {"batch": 2, "kv_lengths": [256, 0], "empty_rows": "nan"},
    "wide head": {"head_dim": 192},
}
REFUSED = {
    "xla": {"grouped": "softcap"},
    "jax-flash": {
        "grouped": "shared kv heads (GQA)",
        "window": "bottom-right causal alignment",
        "array": "boolean mask array",
        "ragged": "divides kv_len 300",
        "hiding bias": "bias of -inf",
        "lengths": "kv lengths",
        "wide head": "head_dim 192",
    },
    "jax-splash": {
        "bias": "bias",
        "hiding bias": "bias",
        "ragged": "flash, naive and xla take any length",
        "lengths": "kv lengths",
    },
    "naive": {},
    "flash": {},
}


@pytest.mark.parametrize("kind", PROBLEMS)
@pytest.mark.parametrize("name", ["naive", "xla", "jax-flash", "jax-splash"])
def test_right_where_it_can_and_refused_by_name_where_not(name, kind, judge):
    problem, blocks = AttentionProblem(**{**BASE, **PROBLEMS[kind]}), BlockSizes(128, 128)
    reason = catalog.get(name).refusal(problem, blocks, "cpu")
    assert bool(reason) == (kind in REFUSED[name])
    if reason:
        assert reason.startswith(name)
        assert REFUSED[name][kind] in reason
        with pytest.raises(Unsupported, match=name):
            catalog.get(name).build(problem, blocks)
        return
    judged = judge(name, problem, blocks)
    # bfloat16: JAX's kernels round Q scaled, P and O to 8 bits each
    assert judged.o_error < (5e-6 if problem.dtype == "float32" else 2e-2)
    assert judged.lse_error < 5e-6
    assert (judged.lse is None) == (name == "jax-flash" or (name == "xla" and problem.dtype == "bfloat16"))


@pytest.mark.parametrize(
    ("name", "fields", "blocks", "words"),
    [
        ("jax-flash", {"window": (3, 0)}, (128, 128), "window"),
        ("jax-flash", {"softcap": 5.0}, (128, 128), "softcap; flash, naive and jax-splash do"),
        ("jax-flash", {}, (128, 64), "multiple of 128 that divides kv_len 256, not 64; use 128 or 256"),
        ("jax-flash", {"kv_len": 100}, (128, 64), "use 100 (the whole length)"),
        ("jax-splash", {"q_len": 100}, (64, 128), "block_q to be a multiple of 8 that divides q_len 100"),
        ("jax-splash", {"kv_len": 1280}, (128, 200), "use 128, 256, 640 or 1280"),
        ("jax-splash", {"batch": 2, "mask": np.ones((2, 1, 1, 1), bool)}, (128, 128), "differs by batch element"),
    ],
)
def test_refusals_say_what_would_do(name, fields, blocks, words):
    reason = catalog.get(name).refusal(AttentionProblem(**{**BASE, **fields}), BlockSizes(*blocks), "cpu")
    assert words in reason
    assert "\n" not in reason


@pytest.mark.parametrize("name", ["flash", "naive", "xla", "jax-flash", "jax-splash"])
def test_arrays_of_other_shapes_are_refused(name):
    attend = catalog.get(name).build(AttentionProblem(**BASE), BlockSizes(128, 128))
    right, wrong = np.zeros((1, 1, 256, 64), np.float32), np.zeros((1, 1, 256, 32), np.float32)
    with pytest.raises(ProblemError, match=r"k has shape \(1, 1, 256, 32\); this problem needs \(1, 1, 256, 64\)"):
        attend(right, wrong, right)


def test_jax_flash_in_one_step_takes_any_kv_length(judge):
    problem = AttentionProblem(q_len=40, kv_len=77, head_dim=192)
    assert judge("jax-flash", problem, BlockSizes(16, 128)).o_error < 5e-6


@pytest.mark.parametrize("name", ["jax-flash", "jax-splash"])
def test_jax_kernels_lower_for_a_tpu_and_are_interpreted_only_when_asked(name):
    problem, blocks = AttentionProblem(**BASE, causal=True, dtype="bfloat16"), BlockSizes(128, 128)
    shapes = [jax.ShapeDtypeStruct((1, 1, 256, 64), "bfloat16")] * 3
    compiled = jax.jit(catalog.get(name).build(problem, blocks, interpret=False))
    assert "tpu_custom_call" in jax.export.export(compiled, platforms=["tpu"])(*shapes).mlir_module()
    interpreted = jax.jit(catalog.get(name).build(problem, blocks, interpret=True))
    assert "tpu_custom_call" not in jax.export.export(interpreted, platforms=["cpu"])(*shapes).mlir_module()
