"""What a row that sees no key gives, and keys that may not be read, for kernels that know neither."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np

from kernels.problem import AttentionProblem


def hide_unseen_values(problem: AttentionProblem, v: jax.Array) -> jax.Array:
    """V with rows at and after ``kv_lengths`` set to 0, so that what lies there (NaN, say) cannot reach anything."""
    if problem.kv_lengths is None:
        return v
    key = jnp.arange(problem.kv_len)[None, None, :, None]
    return jnp.where(key < jnp.asarray(problem.kv_lengths)[:, None, None, None], v, jnp.zeros((), v.dtype))


def apply_policy(problem: AttentionProblem, o: jax.Array, empty: jax.Array, v: jax.Array) -> jax.Array:
    """``o`` with the problem's ``empty_rows`` policy in the rows that see no key.

    o: (batch, heads, q_len, head_dim). empty: bool, broadcastable to (batch, heads, q_len). v: (batch, kv_heads,
    kv_len, head_dim). The mean of V counts the keys before ``kv_lengths``; of no keys it is 0.
    """
    if problem.empty_rows == "mean-v":
        policy = value_means(problem, v).astype(o.dtype)
    else:
        policy = jnp.full((), np.nan if problem.empty_rows == "nan" else 0.0, o.dtype)
    return jnp.where(empty[..., None], policy, o)


def value_means(problem: AttentionProblem, v: jax.Array) -> jax.Array:
    """float32 (batch, heads, 1, head_dim): the mean of V over the keys of each batch element."""
    lengths = np.full(problem.batch, problem.kv_len) if problem.kv_lengths is None else problem.kv_lengths
    total = hide_unseen_values(problem, v).astype(jnp.float32).sum(axis=2, keepdims=True)
    mean = total / jnp.maximum(jnp.asarray(lengths), 1)[:, None, None, None]
    return jnp.repeat(mean, problem.group, axis=1)
