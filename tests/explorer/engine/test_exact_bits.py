"""Without contraction, probed, bare, jitted and eager runs all give the same bits."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from explorer.engine.exact_bits import NO_CONTRACTION, ask_for_exact_bits

_SCRIPT = """
import jax, jax.numpy as jnp, numpy as np
from explorer.engine.capture import capture
from explorer.engine.driver import Driver
from explorer.engine.bits import same_bits
from kernels import catalog
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

problem = AttentionProblem(q_len=34, kv_len=100, head_dim=80, heads=2)
rng = np.random.default_rng(0)
q, k, v = (jnp.asarray(rng.standard_normal((1, 2, n, 80)), jnp.float32) for n in (34, 100, 100))
function = catalog.get("flash").build(problem, BlockSizes(16, 64))
program = capture(function, q, k, v)
driver = Driver(program)
assert all(driver.step(step).probes_exact for step in range(program.steps))
runs = [jax.tree.leaves(run) for run in (driver.run(), function(q, k, v), jax.jit(function)(q, k, v))]
assert all(same_bits(np.asarray(a), np.asarray(b)) for run in runs for a, b in zip(run, runs[0]))
"""


@pytest.mark.skipif(not ask_for_exact_bits({}), reason="the flag is for x86")
def test_every_way_to_run_flash_gives_the_same_bits():
    environment = {**os.environ, "JAX_PLATFORMS": "cpu", "PYTHONPATH": os.pathsep.join(p for p in sys.path if p)}
    environment.pop("XLA_FLAGS", None)
    assert ask_for_exact_bits(environment)
    ended = subprocess.run(
        [sys.executable, "-c", _SCRIPT], env=environment, capture_output=True, text=True, timeout=120
    )
    assert ended.returncode == 0, ended.stderr


def test_flags_of_the_user_are_kept():
    environment = {"XLA_FLAGS": "--xla_dump_to=somewhere"}
    assert ask_for_exact_bits(environment, "x86_64")
    assert environment["XLA_FLAGS"] == f"--xla_dump_to=somewhere {NO_CONTRACTION}"
    assert not ask_for_exact_bits(environment, "x86_64")


def test_other_machines_are_left_alone():
    environment: dict[str, str] = {}
    assert not ask_for_exact_bits(environment, "arm64")
    assert environment == {}
