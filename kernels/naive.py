"""Naive attention in XLA: the whole matrix of scores, the whole matrix of probabilities, and no tiles."""

from __future__ import annotations

import jax
import jax.numpy as jnp
from jax import lax

from kernels import masks
from kernels.empty_rows import apply_policy, hide_unseen_values
from kernels.problem import AttentionProblem


def naive_attention(
    problem: AttentionProblem, q: jax.Array, k: jax.Array, v: jax.Array
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """(o, lse, s, p): s and p are float32 (batch, heads, q_len, kv_len); the barriers keep XLA from fusing them away.

    Products of float32 are float32 on every platform; P meets V unrounded. K and V are repeated for GQA.
    """
    problem.check_operands(q, k, v)
    visible = hide_unseen_values(problem, v)
    k_all, v_all = (jnp.repeat(x, problem.group, axis=1).astype(jnp.float32) for x in (k, visible))
    highest = lax.Precision.HIGHEST
    s = jnp.einsum("bhqd,bhkd->bhqk", q.astype(jnp.float32), k_all, precision=highest) * problem.scale_in_force
    if problem.softcap is not None:
        s = problem.softcap * jnp.tanh(s / problem.softcap)
    if problem.bias is not None:
        s = s + jnp.asarray(problem.bias)
    seen = allowed_pairs(problem)
    s = lax.optimization_barrier(s if seen is None else jnp.where(seen, s, -jnp.inf))
    m = s.max(axis=-1, keepdims=True)
    weights = jnp.exp(s - jnp.where(m == -jnp.inf, 0.0, m))
    total = weights.sum(axis=-1, keepdims=True)
    divisor = jnp.where(total == 0.0, 1.0, total)
    p = lax.optimization_barrier(weights / divisor)
    o = jnp.einsum("bhqk,bhkd->bhqd", p, v_all, precision=highest).astype(q.dtype)
    lse = (m + jnp.log(divisor))[..., 0]
    return apply_policy(problem, o, lse == -jnp.inf, v), lse, s, p


def allowed_pairs(problem: AttentionProblem) -> jax.Array | None:
    """bool, broadcastable to (batch, heads, q_len, kv_len): every pair that may meet; None where all may."""
    row, col = jnp.arange(problem.q_len)[:, None], jnp.arange(problem.kv_len)[None, :]
    by_position = masks.position_rule(problem, row, col)
    rules = [] if by_position is None else [by_position[None, None]]
    if problem.kv_lengths is not None:
        rules.append(col[None, None] < jnp.asarray(problem.kv_lengths)[:, None, None, None])
    if problem.q_segment_ids is not None and problem.kv_segment_ids is not None:
        q_ids, kv_ids = jnp.asarray(problem.q_segment_ids), jnp.asarray(problem.kv_segment_ids)
        rules.append(masks.segment_rule(q_ids[:, None, :, None], kv_ids[:, None, None, :], problem.padding_id))
    if problem.mask is not None:
        rules.append(jnp.asarray(problem.mask))
    seen = rules[0] if rules else None
    for rule in rules[1:]:
        seen = seen & rule
    return seen
