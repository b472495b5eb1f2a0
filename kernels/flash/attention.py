"""The flash kernel as a function of q, k and v: its operands and the call, and its entry in the catalog."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from kernels.catalog import AttentionOutput, Unsupported
from kernels.empty_rows import apply_policy
from kernels.flash import tiles
from kernels.flash.block_sizes import BlockSizes
from kernels.flash.kernel import KernelPlan, flash_kernel
from kernels.flash.limits import tpu_refusal
from kernels.flash.specs import grid_spec
from kernels.problem import AttentionProblem


class FlashKernel:
    """Our Pallas kernel: any lengths, every mask, GQA, softcap, bias, LSE; float32 and bfloat16."""

    name = "flash"
    title = "Tilescope flash (Pallas)"
    exact = True
    is_pallas = True

    def refusal(self, problem: AttentionProblem, blocks: BlockSizes, platform: str) -> str:
        """'' where it can; on a TPU, why the compiler would refuse these block sizes and which would do."""
        return tpu_refusal(problem, blocks) if platform == "tpu" else ""

    def build(
        self, problem: AttentionProblem, blocks: BlockSizes, *, interpret: bool | None = None
    ) -> Callable[[jax.Array, jax.Array, jax.Array], AttentionOutput]:
        """``f(q, k, v) -> AttentionOutput``; ``interpret=None`` compiles on a TPU and interprets elsewhere."""
        if interpret is None:
            interpret = jax.default_backend() != "tpu"
        reason = "" if interpret else tpu_refusal(problem, blocks)
        if reason:
            raise Unsupported(reason)
        blocks = blocks.clamped(problem)
        plan = KernelPlan(problem, blocks, tiles.tile_table(problem, blocks))
        return functools.partial(_attend, plan, interpret)


FLASH = FlashKernel()


def _attend(plan: KernelPlan, interpret: bool, q: jax.Array, k: jax.Array, v: jax.Array) -> AttentionOutput:
    """q: (batch, heads, q_len, head_dim); k, v: (batch, kv_heads, kv_len, head_dim); all of the problem's dtype."""
    problem = plan.problem
    problem.check_operands(q, k, v)
    call = pl.pallas_call(
        functools.partial(flash_kernel, plan=plan),
        grid_spec=grid_spec(plan),
        out_shape=(
            jax.ShapeDtypeStruct(q.shape, q.dtype),
            jax.ShapeDtypeStruct((*q.shape[:3], 1), jnp.float32),
        ),
        compiler_params=pltpu.CompilerParams(
            dimension_semantics=("parallel", "parallel", "parallel", "arbitrary"),
        ),
        interpret=interpret,
        name="tilescope_flash",
    )
    o, lse = call(*_scalars(plan), q, k, v, *_mask_operands(problem))
    lse = lse[..., 0]
    if problem.empty_rows != "zero":  # 0 is what the kernel itself writes
        o = apply_policy(problem, o, lse == -jnp.inf, v)
    return AttentionOutput(o, lse)


def _scalars(plan: KernelPlan) -> tuple[jax.Array, jax.Array | None]:
    """What is prefetched into scalar memory: the tile table, and the kv lengths where there are any."""
    lengths = plan.problem.kv_lengths
    return jnp.asarray(plan.table.flat), None if lengths is None else jnp.asarray(lengths)


def _mask_operands(problem: AttentionProblem) -> tuple[Any, Any, Any, Any]:
    """Segment ids as a column and a row, so that a tile compares them without a transpose; mask as int8; bias."""
    q_ids, kv_ids, mask, bias = problem.q_segment_ids, problem.kv_segment_ids, problem.mask, problem.bias
    return (
        None if q_ids is None else jnp.asarray(q_ids[:, :, None]),
        None if kv_ids is None else jnp.asarray(kv_ids[:, None, :]),
        None if mask is None else jnp.asarray(mask.astype(np.int8)),
        None if bias is None else jnp.asarray(bias),
    )
