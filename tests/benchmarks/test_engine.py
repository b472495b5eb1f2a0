"""What a driven grid step costs beside other ways to run it; ratios are in ``extra_info``, since machines differ."""

from __future__ import annotations

import time

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from explorer.engine.capture import Program, capture
from explorer.engine.driver import Driver
from kernels import catalog
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

pytestmark = pytest.mark.benchmark(group="engine")


@pytest.fixture(scope="module")
def program() -> Program:
    problem = AttentionProblem(q_len=1024, kv_len=1024, head_dim=64, causal=True)
    rng = np.random.default_rng(0)
    q, k, v = (jnp.asarray(rng.standard_normal((1, 1, 1024, 64)), jnp.float32) for _ in range(3))
    return capture(catalog.get("flash").build(problem, BlockSizes(128, 128)), q, k, v)


def _best(action, repeats: int = 5) -> float:
    times = []
    for _ in range(repeats):
        began = time.perf_counter()
        action()
        times.append(time.perf_counter() - began)
    return min(times)


def test_a_step_with_all_probes(benchmark, program):
    driver = Driver(program)
    driver.step(9)
    benchmark.pedantic(driver.step, args=(9,), rounds=10, warmup_rounds=1)
    bare = _best(lambda: driver.time_step(9, probed=False))
    benchmark.extra_info["probed_over_bare"] = _best(lambda: driver.time_step(9, probed=True)) / bare


def test_one_probe_against_all(benchmark, program):
    product = next(e.index for e in program.equations if e.primitive == "dot_general")
    everything, one = Driver(program), Driver(program, [product])
    everything.step(9), one.step(9)
    benchmark.pedantic(one.step, args=(9,), rounds=10, warmup_rounds=1)
    all_probes = _best(lambda: everything.time_step(9, probed=True))
    benchmark.extra_info["one_over_all"] = _best(lambda: one.time_step(9, probed=True)) / all_probes


def test_a_driven_run_against_the_plain_call(benchmark, program):
    def drive() -> None:
        driver.ensure_outputs(0, program.steps)

    def fresh() -> None:
        driver._store.__init__(program)

    driver = Driver(program, "none")
    drive()
    benchmark.pedantic(drive, setup=fresh, rounds=3)
    jax.block_until_ready(program.plain())
    plain = _best(lambda: jax.block_until_ready(program.plain()))
    benchmark.extra_info["driven_over_plain"] = benchmark.stats.stats.min / plain


def test_a_jump_back_against_a_step(benchmark, program):
    driver = Driver(program)
    driver.step(program.steps - 1)
    benchmark.pedantic(lambda: [driver.step(60), driver.step(30)], rounds=5, warmup_rounds=1)
    benchmark.extra_info["jump_over_step"] = benchmark.stats.stats.min / 2 / _best(lambda: driver.step(30))
