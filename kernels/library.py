"""Attention that others wrote, and naive attention, under the catalog's contract.

Each says what it cannot take, by the name of the thing. JAX's kernels know no policy for rows that see no key; it is
put on after them.
"""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np

from kernels import masks
from kernels.catalog import AttentionOutput, Unsupported
from kernels.empty_rows import apply_policy, hide_unseen_values
from kernels.flash.block_sizes import BlockSizes
from kernels.jax_pallas import JAX_FLASH, JAX_SPLASH
from kernels.naive import allowed_pairs, naive_attention
from kernels.problem import AttentionProblem

__all__ = ["JAX_FLASH", "JAX_SPLASH", "NAIVE", "XLA"]

Attend = Callable[[jax.Array, jax.Array, jax.Array], AttentionOutput]


class NaiveKernel:
    """S and P whole, in XLA: takes every problem that fits in memory."""

    name = "naive"
    title = "Naive attention (XLA)"
    exact = True
    is_pallas = False

    def refusal(self, problem: AttentionProblem, blocks: BlockSizes, platform: str) -> str:
        return ""

    def build(self, problem: AttentionProblem, blocks: BlockSizes, *, interpret: bool | None = None) -> Attend:
        """``f(q, k, v) -> AttentionOutput``; block sizes and ``interpret`` mean nothing here."""

        def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> AttentionOutput:
            o, lse, _, _ = naive_attention(problem, q, k, v)
            return AttentionOutput(o, lse)

        return attend


class XlaKernel:
    """``jax.nn.dot_product_attention`` in its XLA form. Gives LSE for float32 only: for bfloat16 it rounds it."""

    name = "xla"
    title = "jax.nn.dot_product_attention (XLA)"
    exact = True
    is_pallas = False

    def refusal(self, problem: AttentionProblem, blocks: BlockSizes, platform: str) -> str:
        return "" if problem.softcap is None else "xla takes no softcap; flash, naive and jax-splash do"

    def build(self, problem: AttentionProblem, blocks: BlockSizes, *, interpret: bool | None = None) -> Attend:
        """``f(q, k, v) -> AttentionOutput``; blocks and ``interpret`` mean nothing here. Raises ``Unsupported``."""
        reason = self.refusal(problem, blocks, "")
        if reason:
            raise Unsupported(reason)
        empty = np.array(masks.empty_rows(problem))

        def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> AttentionOutput:
            problem.check_operands(q, k, v)
            with jax.default_matmul_precision("highest" if problem.dtype == "float32" else "default"):
                o, lse = jax.nn.dot_product_attention(
                    *(x.swapaxes(1, 2) for x in (q, k, hide_unseen_values(problem, v))),
                    bias=None if problem.bias is None else jnp.asarray(problem.bias),
                    mask=allowed_pairs(problem),
                    scale=problem.scale_in_force,
                    implementation="xla",
                    return_residual=True,
                )
            o = apply_policy(problem, o.swapaxes(1, 2), jnp.asarray(empty), v)
            if problem.dtype != "float32":
                return AttentionOutput(o, None)
            return AttentionOutput(o, jnp.where(empty, -jnp.inf, lse.swapaxes(1, 2)))

        return attend


NAIVE = NaiveKernel()
XLA = XlaKernel()
