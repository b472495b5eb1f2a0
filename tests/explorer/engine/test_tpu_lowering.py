"""The instrumented calls lower for a TPU, on any machine."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax import export

from explorer.engine.capture import Program, capture
from explorer.engine.driver import choose_probes
from explorer.engine.instrument import build
from explorer.engine.output_store import OutputStore
from explorer.engine.runner import Runner
from kernels import catalog
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


def _lowered_for_tpu(program: Program, probes: str) -> str:
    probed = choose_probes(program, probes)
    chunk = 1 if probed else 4
    runner = Runner(program, OutputStore(program), chunk)
    function = jax.jit(build(program, chunk, probed, interpret=False))
    arguments = runner._arguments(runner.first_carry(), 0, 1, chunk)
    return export.export(function, platforms=["tpu"])(*arguments).mlir_module()


@pytest.mark.parametrize("probes", ["all", "none"])
@pytest.mark.parametrize("name", ["scratch_matmul", "output_matmul", "loops", "prefetched", "half_precision"])
def test_kernels_of_the_zoo(zoo, name, probes):
    assert "tpu_custom_call" in _lowered_for_tpu(zoo[name]().capture(), probes)


@pytest.mark.parametrize("name", ["flash", "jax-flash"])
def test_attention_kernels_with_all_probes(name):
    problem = AttentionProblem(q_len=256, kv_len=256, head_dim=128, causal=True, dtype="bfloat16")
    arrays = (jnp.asarray(np.ones((1, 1, 256, 128)), jnp.bfloat16) for _ in range(3))
    program = capture(catalog.get(name).build(problem, BlockSizes(128, 128)), *arrays)
    assert "tpu_custom_call" in _lowered_for_tpu(program, "all")
