"""JAX's own Pallas TPU kernels, flash and splash, under the catalog's contract: they refuse by name."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental.pallas import tpu as pltpu
from jax.experimental.pallas.ops.tpu import flash_attention as jax_flash
from jax.experimental.pallas.ops.tpu.splash_attention import (
    splash_attention_kernel as splash,
    splash_attention_mask as splash_mask,
)

from kernels import masks
from kernels.catalog import AttentionOutput, Unsupported
from kernels.empty_rows import apply_policy
from kernels.flash.block_sizes import BlockSizes
from kernels.flash.limits import LANES, SUBLANES
from kernels.problem import AttentionProblem

Attend = Callable[[jax.Array, jax.Array, jax.Array], AttentionOutput]


class JaxFlashKernel:
    """``jax.experimental.pallas.ops.tpu.flash_attention``. Its scale defaults to 1.0; it is always given. No LSE."""

    name = "jax-flash"
    title = "JAX flash_attention (Pallas)"
    exact = True
    is_pallas = True

    def refusal(self, problem: AttentionProblem, blocks: BlockSizes, platform: str) -> str:
        """'' where it can take the problem, else the first thing it cannot, and what would do."""
        blocks = blocks.clamped(problem)
        return (
            _first_refusal(self.name, _flash_features(problem))
            or _kv_block_refusal(self.name, problem, blocks, whole_is_free=problem.q_segment_ids is None)
            or _wide_head_refusal(problem, blocks)
            or (_q_block_refusal(self.name, problem, blocks, must_divide=False) if platform == "tpu" else "")
        )

    def build(self, problem: AttentionProblem, blocks: BlockSizes, *, interpret: bool | None = None) -> Attend:
        """``f(q, k, v) -> AttentionOutput`` without LSE. Raises ``Unsupported``."""
        interpret = _decide(interpret)
        _raise_if(self.refusal(problem, blocks, "cpu" if interpret else "tpu"))
        blocks = blocks.clamped(problem)
        sizes = jax_flash.BlockSizes(
            block_q=blocks.block_q, block_k_major=blocks.block_kv, block_k=blocks.block_kv, block_b=1
        )
        empty = np.array(masks.empty_rows(problem))

        def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> AttentionOutput:
            problem.check_operands(q, k, v)
            # flash_attention has no interpret argument. The context manager hands its argument to pallas_call as
            # interpret; True is the same fast interpreter that our own kernel runs in.
            with pltpu.force_tpu_interpret_mode(True if interpret else None):
                o = jax_flash.flash_attention(
                    q, k, v, ab=_scaled_bias(problem), segment_ids=_flash_segments(problem),
                    causal=problem.causal, sm_scale=problem.scale_in_force, block_sizes=sizes,
                )  # fmt: skip
            return AttentionOutput(apply_policy(problem, o, jnp.asarray(empty), v) if empty.any() else o, None)

        return attend


class JaxSplashKernel:
    """``splash_attention`` of JAX, multi-head form, one call per batch element. It has no scale: Q is scaled before."""

    name = "jax-splash"
    title = "JAX splash_attention (Pallas)"
    exact = True
    is_pallas = True

    def refusal(self, problem: AttentionProblem, blocks: BlockSizes, platform: str) -> str:
        """'' where it can take the problem, else the first thing it cannot, and what would do."""
        blocks = blocks.clamped(problem)
        return (
            _first_refusal(self.name, _splash_features(problem))
            or _kv_block_refusal(self.name, problem, blocks, whole_is_free=False)
            or _q_block_refusal(self.name, problem, blocks, must_divide=True)
        )

    def build(self, problem: AttentionProblem, blocks: BlockSizes, *, interpret: bool | None = None) -> Attend:
        """``f(q, k, v) -> AttentionOutput`` with LSE. Raises ``Unsupported``."""
        interpret = _decide(interpret)
        _raise_if(self.refusal(problem, blocks, "cpu" if interpret else "tpu"))
        blocks = blocks.clamped(problem)
        kernel = splash.make_splash_mha(
            splash_mask.MultiHeadMask([_splash_head_mask(problem, head) for head in range(problem.heads)]),
            block_sizes=splash.BlockSizes(
                block_q=blocks.block_q, block_kv=blocks.block_kv, block_kv_compute=blocks.block_kv
            ),
            head_shards=1, q_seq_shards=1, save_residuals=True, attn_logits_soft_cap=problem.softcap,
            interpret=interpret,
        )  # fmt: skip
        empty = np.array(masks.empty_rows(problem))

        def attend(q: jax.Array, k: jax.Array, v: jax.Array) -> AttentionOutput:
            problem.check_operands(q, k, v)
            scaled = (q.astype(jnp.float32) * problem.scale_in_force).astype(q.dtype)
            outputs = [
                kernel(scaled[b], k[b], v[b], segment_ids=_splash_segments(problem, b)) for b in range(problem.batch)
            ]
            o = jnp.stack([out for out, _ in outputs])
            lse = jnp.stack([residuals[0] for _, residuals in outputs])
            if not empty.any():
                return AttentionOutput(o, lse)
            return AttentionOutput(apply_policy(problem, o, jnp.asarray(empty), v), jnp.where(empty, -jnp.inf, lse))

        return attend


JAX_FLASH = JaxFlashKernel()
JAX_SPLASH = JaxSplashKernel()


def _decide(interpret: bool | None) -> bool:
    return jax.default_backend() != "tpu" if interpret is None else interpret


def _raise_if(reason: str) -> None:
    if reason:
        raise Unsupported(reason)


def _first_refusal(name: str, features: dict[str, tuple[bool, str]]) -> str:
    """The first feature asked for that the kernel lacks. features: what -> (asked for, what would do)."""
    return next((f"{name} takes no {what}; {remedy}" for what, (asked, remedy) in features.items() if asked), "")


def _flash_features(problem: AttentionProblem) -> dict[str, tuple[bool, str]]:
    bottom_right = problem.causal and problem.shift != 0
    hiding_bias = problem.bias is not None and bool(np.isneginf(problem.bias).any())
    return {
        "shared kv heads (GQA)": (problem.group > 1, f"use kv_heads {problem.heads}, or flash, naive, xla, jax-splash"),
        "softcap": (problem.softcap is not None, "flash, naive and jax-splash do"),
        "bottom-right causal alignment": (bottom_right, "flash, naive, xla and jax-splash do"),
        "window": (problem.window is not None, "flash, naive, xla and jax-splash do"),
        "boolean mask array": (problem.mask is not None, "flash, naive, xla and jax-splash do"),
        "kv lengths": (problem.kv_lengths is not None, "use segment ids, or flash, naive or xla"),
        "bias of -inf": (hiding_bias, "use segment ids to hide pairs, or flash, naive or xla"),
    }


def _splash_features(problem: AttentionProblem) -> dict[str, tuple[bool, str]]:
    mask_by_batch = problem.mask is not None and problem.mask.shape[0] > 1
    return {
        "bias": (problem.bias is not None, "flash, naive, xla and jax-flash do"),
        "kv lengths": (problem.kv_lengths is not None, "use segment ids, or flash, naive or xla"),
        "mask array that differs by batch element": (mask_by_batch, "flash, naive and xla do"),
    }


def _kv_block_refusal(name: str, problem: AttentionProblem, blocks: BlockSizes, whole_is_free: bool) -> str:
    """Their kv blocks must divide kv_len and be multiples of 128; the whole length may be ``whole_is_free`` of that."""
    size, length = blocks.block_kv, problem.kv_len
    if size == length and whole_is_free:
        return ""
    if size % LANES == 0 and length % size == 0:
        return ""
    fitting = [str(n) for n in range(LANES, length + 1, LANES) if length % n == 0]
    if whole_is_free and str(length) not in fitting:
        fitting.append(f"{length} (the whole length)")
    remedy = f"use {_some(fitting)}" if fitting else "no block size divides it; flash, naive and xla take any length"
    return f"{name} needs block_kv to be a multiple of {LANES} that divides kv_len {length}, not {size}; {remedy}"


def _q_block_refusal(name: str, problem: AttentionProblem, blocks: BlockSizes, must_divide: bool) -> str:
    size, length = blocks.block_q, problem.q_len
    if size == length or (size % SUBLANES == 0 and (length % size == 0 or not must_divide)):
        return ""
    fitting = [str(n) for n in range(SUBLANES, length, SUBLANES) if length % n == 0 or not must_divide]
    rule = f" that divides q_len {length}" if must_divide else ""
    remedy = _some([*fitting, f"{length} (the whole length)"])
    return f"{name} needs block_q to be a multiple of {SUBLANES}{rule}, not {size}; use {remedy}"


def _wide_head_refusal(problem: AttentionProblem, blocks: BlockSizes) -> str:
    """JAX's flash kernel repeats whole registers over a wide head; a row block of one step needs no such thing."""
    if problem.head_dim < LANES or problem.head_dim % LANES == 0 or blocks.block_kv == problem.kv_len:
        return ""
    return (
        f"jax-flash takes no head_dim {problem.head_dim}: above {LANES} it must be a multiple of {LANES}; "
        f"use block_kv {problem.kv_len} (one step), or flash, naive, xla, jax-splash"
    )


def _some(options: list[str]) -> str:
    """At most four of the options, the smallest and the largest among them."""
    shown = options if len(options) <= 4 else [*options[:3], options[-1]]
    return ", ".join(shown[:-1]) + " or " + shown[-1] if len(shown) > 1 else shown[0]


def _scaled_bias(problem: AttentionProblem) -> jax.Array | None:
    """JAX's flash kernel adds its bias before it scales, and wants it in full."""
    if problem.bias is None:
        return None
    full = (problem.batch, problem.heads, problem.q_len, problem.kv_len)
    return jnp.broadcast_to(jnp.asarray(problem.bias / np.float32(problem.scale_in_force)), full)


def _flash_segments(problem: AttentionProblem) -> jax_flash.SegmentIds | None:
    """Padding needs no care: rows that are padding are empty, and no other row has its id."""
    if problem.q_segment_ids is None:
        return None
    return jax_flash.SegmentIds(q=jnp.asarray(problem.q_segment_ids), kv=jnp.asarray(problem.kv_segment_ids))


def _splash_segments(problem: AttentionProblem, batch: int) -> splash.SegmentIds | None:
    if problem.q_segment_ids is None or problem.kv_segment_ids is None:
        return None
    return splash.SegmentIds(q=jnp.asarray(problem.q_segment_ids[batch]), kv=jnp.asarray(problem.kv_segment_ids[batch]))


def _splash_head_mask(problem: AttentionProblem, head: int) -> splash_mask.Mask:
    """Causal alone is computed inside the kernel; a band or an array goes in as blocks."""
    shape = (problem.q_len, problem.kv_len)
    parts: list[splash_mask.Mask] = []
    if problem.causal:
        parts.append(splash_mask.CausalMask(shape, offset=problem.shift))
    if problem.window is not None:
        parts.append(splash_mask.LocalMask(shape, window_size=problem.window, offset=problem.shift))
    if problem.mask is not None:
        parts.append(splash_mask.NumpyMask(np.broadcast_to(masks.of_head(problem.mask, 0, head), shape)))
    if not parts:
        return splash_mask.FullMask(shape)
    combined = parts[0]
    for part in parts[1:]:
        combined = combined & part
    return combined
