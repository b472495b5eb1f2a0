"""What the tests of ``kernels`` share: inputs for a problem, a run of a kernel, and distance from float64."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from kernels import catalog, reference
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

Arrays = tuple[np.ndarray, np.ndarray, np.ndarray]


class Judged(NamedTuple):
    """A kernel's float64 o and lse beside the oracle's. ``o_error``, ``lse_error``: max absolute, NaN never hidden."""

    o: np.ndarray
    lse: np.ndarray | None
    right: reference.Oracle
    o_error: float
    lse_error: float


@pytest.fixture(scope="session")
def normal_inputs() -> Callable[..., Arrays]:
    """``f(problem, seed=0) -> q, k, v``: normal, float32, rounded to the problem's dtype."""

    def make(problem: AttentionProblem, seed: int = 0) -> Arrays:
        rng = np.random.default_rng(seed)
        q_shape = (problem.batch, problem.heads, problem.q_len, problem.head_dim)
        kv_shape = (problem.batch, problem.kv_head_count, problem.kv_len, problem.head_dim)
        q, k, v = (reference.rounded(problem, rng.standard_normal(shape)) for shape in (q_shape, kv_shape, kv_shape))
        return q, k, v

    return make


@pytest.fixture(scope="session")
def run() -> Callable[..., catalog.AttentionOutput]:
    """``f(name, problem, blocks, q, k, v) -> AttentionOutput`` of NumPy arrays (o as float64), interpreted."""

    def call(name: str, problem: AttentionProblem, blocks: BlockSizes, *arrays: np.ndarray) -> catalog.AttentionOutput:
        quickly = {"xla_backend_optimization_level": 0}  # each problem compiles once and runs once
        attend = jax.jit(catalog.get(name).build(problem, blocks, interpret=True), compiler_options=quickly)
        o, lse = attend(*(jnp.asarray(array, problem.dtype) for array in arrays))
        assert o.dtype == problem.dtype
        return catalog.AttentionOutput(np.asarray(o, np.float64), None if lse is None else np.asarray(lse))

    return call


@pytest.fixture(scope="session")
def judge(normal_inputs, run) -> Callable[..., Judged]:
    """``f(name, problem, blocks, inputs=None, seed=0) -> Judged``: a run on normal inputs against the oracle."""

    def call(name: str, problem: AttentionProblem, blocks: BlockSizes, inputs: Arrays | None = None, seed: int = 0):
        arrays = normal_inputs(problem, seed) if inputs is None else inputs
        o, lse = run(name, problem, blocks, *arrays)
        right = reference.oracle(problem, *arrays)
        return Judged(o, lse, right, distance(o, right.o), 0.0 if lse is None else distance(lse, right.lse))

    return call


def distance(a: np.ndarray, b: np.ndarray) -> float:
    """Max absolute difference; equal infinities and NaN in the same place are no difference, NaN elsewhere is inf."""
    assert a.shape == b.shape
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        apart = np.where(same, 0.0, np.abs(a - b))
    return float(np.where(np.isnan(apart), np.inf, apart).max())
