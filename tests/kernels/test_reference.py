"""The oracle against attention written out number by number, and naive attention against the oracle."""

import math

import jax
import jax.numpy as jnp
import ml_dtypes
import numpy as np
import pytest

from kernels import reference
from kernels.problem import AttentionProblem


def by_hand(problem, q, k, v, i):
    """(o, lse) of row i of the only head, in Python floats."""
    weights, values = [], []
    for j in range(problem.kv_len):
        s = sum(float(a) * float(b) for a, b in zip(q[0, 0, i], k[0, 0, j], strict=True)) * problem.scale_in_force
        if problem.softcap is not None:
            s = problem.softcap * math.tanh(s / problem.softcap)
        if problem.bias is not None:
            s += float(np.broadcast_to(problem.bias, (1, 1, problem.q_len, problem.kv_len))[0, 0, i, j])
        if not problem.causal or j <= i:
            weights.append(math.exp(s))
            values.append(v[0, 0, j].astype(float))
    total = math.fsum(weights)
    return sum(w * x for w, x in zip(weights, values, strict=True)) / total, math.log(total)


@pytest.mark.parametrize(
    "extra",
    [{}, {"causal": True}, {"softcap": 0.7, "bias": np.linspace(-1.0, 1.0, 5)[None, None, None], "scale": 2}],
)
def test_oracle_equals_attention_by_hand(extra, normal_inputs):
    problem = AttentionProblem(q_len=4, kv_len=5, head_dim=3, **extra)
    q, k, v = normal_inputs(problem)
    found = reference.oracle(problem, q, k, v)
    for i in range(problem.q_len):
        o, lse = by_hand(problem, q, k, v, i)
        np.testing.assert_allclose(found.o[0, 0, i], o, rtol=1e-12)
        assert found.lse[0, 0, i] == pytest.approx(lse, rel=1e-12)
    np.testing.assert_allclose(found.probabilities @ v.astype(float), found.o, rtol=1e-12)


@pytest.mark.parametrize("policy", ["zero", "mean-v", "nan"])
def test_rows_that_see_no_key(policy, normal_inputs):
    problem = AttentionProblem(
        q_len=3, kv_len=4, head_dim=2, batch=2, causal=True, window=(0, None), kv_lengths=[2, 0], empty_rows=policy
    )
    q, k, v = normal_inputs(problem)
    v[0, 0, 2:] = np.nan  # keys past the length may hold anything
    found = reference.oracle(problem, q, k, v)
    expected = {"zero": 0.0, "mean-v": v[0, 0, :2].astype(float).mean(axis=0), "nan": np.nan}[policy]
    np.testing.assert_array_equal(found.o[0, 0, 2], np.broadcast_to(expected, 2))
    np.testing.assert_array_equal(found.lse, [[[found.lse[0, 0, 0], found.lse[0, 0, 1], -np.inf]], [[-np.inf] * 3]])
    np.testing.assert_array_equal(found.o[0, 0, :2], v[0, 0, :2])  # one key each
    np.testing.assert_array_equal(found.o[1], np.nan if policy == "nan" else 0.0)
    np.testing.assert_array_equal(found.probabilities[1], 0.0)


def test_rows_over_the_first_keys_equal_a_problem_of_that_length(normal_inputs):
    problem = AttentionProblem(q_len=6, kv_len=9, head_dim=4, heads=2, kv_heads=1, causal=True)
    q, k, v = normal_inputs(problem)
    found = reference.oracle_rows(problem, q, k, v, 0, 1, slice(2, 5), keys=4)
    shorter = reference.oracle(problem.replace(kv_len=4), q, k[:, :, :4], v[:, :, :4])
    np.testing.assert_array_equal(found.o, shorter.o[0, 1, 2:5])
    np.testing.assert_array_equal(found.scores, shorter.scores[0, 1, 2:5])
    np.testing.assert_allclose(found.m + np.log(found.l), found.lse, rtol=1e-15)
    assert found.m.max() == shorter.scores[0, 1, 2:5].max()


def test_rounded_is_what_a_kernel_is_given():
    problem = AttentionProblem(q_len=1, kv_len=1, head_dim=1)
    x = np.array([1 / 3, 1e-3, 256.7])
    np.testing.assert_array_equal(reference.rounded(problem, x), x.astype(np.float32))
    half = reference.rounded(problem.replace(dtype="bfloat16"), x)
    assert half.dtype == np.float32
    np.testing.assert_array_equal(half, x.astype(np.float32).astype(ml_dtypes.bfloat16).astype(np.float32))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_naive_materialises_scores_and_probabilities(dtype, normal_inputs):
    problem = AttentionProblem(q_len=20, kv_len=30, head_dim=16, heads=4, kv_heads=2, dtype=dtype, window=(4, 2))
    q, k, v = normal_inputs(problem)
    right = reference.oracle(problem, q, k, v)
    function = jax.jit(reference.naive(problem))
    o, lse, s, p = function(*(jnp.asarray(x, dtype) for x in (q, k, v)))
    assert s.shape == p.shape == (1, 4, 20, 30)
    assert (o.dtype, s.dtype, p.dtype, lse.dtype) == (dtype, jnp.float32, jnp.float32, jnp.float32)
    np.testing.assert_allclose(s, right.scores, atol=1e-5)
    np.testing.assert_allclose(p, right.probabilities, atol=1e-6)
    np.testing.assert_allclose(lse, right.lse, atol=1e-5)
    np.testing.assert_allclose(np.asarray(o, float), right.o, atol=1e-5 if dtype == "float32" else 2**-7)
