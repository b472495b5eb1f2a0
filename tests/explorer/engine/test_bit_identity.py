"""A driven run gives the very bits of the plain call, with and without probes."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from explorer.engine.bits import same_bits
from explorer.engine.capture import capture
from explorer.engine.driver import Driver
from kernels import catalog
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


def _assert_driven_equals_plain(program) -> None:
    expected = [np.asarray(leaf) for leaf in jax.tree.leaves(program.plain())]
    bare, probed = Driver(program, "none", chunk=3), Driver(program, "all", chunk=3)
    records = [probed.step(step) for step in range(program.steps)]
    assert [record.coords for record in records] == [program.coords(step) for step in range(program.steps)]
    for driver in (bare, probed):
        found = [np.asarray(leaf) for leaf in jax.tree.leaves(driver.run())]
        assert all(map(same_bits, found, expected))


def test_every_kernel_of_the_zoo(case):
    _assert_driven_equals_plain(case.capture())


@pytest.mark.parametrize("name", ["flash", "jax-flash", "jax-splash"])
def test_attention_kernels(name):
    problem = AttentionProblem(q_len=256, kv_len=256, head_dim=128, heads=2, causal=True)
    rng = np.random.default_rng(0)
    q, k, v = (jnp.asarray(rng.standard_normal((1, 2, 256, 128)), jnp.float32) for _ in range(3))
    _assert_driven_equals_plain(capture(catalog.get(name).build(problem, BlockSizes(128, 128)), q, k, v))


def test_flash_with_lengths_that_no_block_divides_in_bfloat16():
    problem = AttentionProblem(q_len=150, kv_len=200, head_dim=64, heads=2, kv_heads=1, dtype="bfloat16", softcap=5.0)
    rng = np.random.default_rng(1)
    q = jnp.asarray(rng.standard_normal((1, 2, 150, 64)), jnp.bfloat16)
    k, v = (jnp.asarray(rng.standard_normal((1, 1, 200, 64)), jnp.bfloat16) for _ in range(2))
    _assert_driven_equals_plain(capture(catalog.get("flash").build(problem, BlockSizes(64, 128)), q, k, v))


def test_jax_flash_with_its_inner_loop():
    flash = pytest.importorskip("jax.experimental.pallas.ops.tpu.flash_attention")
    rng = np.random.default_rng(2)
    q, k, v = (jnp.asarray(rng.standard_normal((1, 1, 256, 64)), jnp.float32) for _ in range(3))
    blocks = flash.BlockSizes(block_q=128, block_k_major=256, block_k=128, block_b=1)
    program = capture(lambda q, k, v: flash.flash_attention(q, k, v, causal=True, block_sizes=blocks), q, k, v)
    assert any(equation.trips == (2,) for equation in program.equations)
    _assert_driven_equals_plain(program)


def test_plain_run_is_the_call_itself(zoo):
    """Held against NumPy in float64, so that the comparisons above are with something right."""
    case = zoo["scratch_matmul"]()
    x, y = case.arguments
    expected = sum(x[:, 128 * j : 128 * j + 128].astype(np.float64) @ y[0, 8 * j : 8 * j + 8].T for j in range(3)) * 6.0
    np.testing.assert_allclose(np.asarray(case.capture().plain()), expected, rtol=1e-5, atol=1e-4)
