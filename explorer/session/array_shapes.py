"""Bringing arrays of a file into the shapes that the explorer works with."""

from __future__ import annotations

import numpy as np

from explorer.session.attention_inputs import InputError


def heads_first(name: str, values: np.ndarray, layout: str) -> np.ndarray:
    """(n, d), (h, n, d) or (b, h, n, d) -> (b, h, n, d); with layout "bnhd" from (n, h, d) or (b, n, h, d).

    Raises InputError for other numbers of dimensions.
    """
    if values.ndim not in (2, 3, 4):
        raise InputError(
            f"{name} has {values.ndim} dimensions, shape {values.shape}: use (length, dim), (heads, length, dim) or "
            "(batch, heads, length, dim)"
        )
    if values.ndim == 2:
        return values[None, None]
    values = values if values.ndim == 4 else values[None]
    return values.transpose(0, 2, 1, 3) if layout == "bnhd" else values


def pairs_4d(name: str, values: np.ndarray, pairs: tuple[int, int, int, int]) -> np.ndarray:
    """A mask or bias of shape (q, kv), (h, q, kv) or (b, h, q, kv), each 1 where it is the same for all -> 4-D.

    Raises InputError where it does not broadcast to ``pairs`` (batch, heads, q_len, kv_len).
    """
    full = values.reshape((1,) * (4 - values.ndim) + values.shape) if values.ndim <= 4 else values
    if full.ndim != 4 or any(have not in (1, want) for have, want in zip(full.shape, pairs, strict=True)):
        raise InputError(f"{name} of shape {values.shape} does not fit (batch, heads, q_len, kv_len) {pairs}")
    return full


def ids_2d(name: str, values: np.ndarray, batch: int, length: int) -> np.ndarray:
    """Segment ids (length,) or (batch, length) -> int32 (batch, length). Raises InputError."""
    if values.dtype.kind not in "iu":
        raise InputError(f"{name} has dtype {values.dtype}: use whole numbers")
    if values.shape not in ((length,), (1, length), (batch, length)):
        raise InputError(f"{name} of shape {values.shape} does not fit (batch, length) ({batch}, {length})")
    limits = np.iinfo(np.int32)
    if int(values.min()) < limits.min or int(values.max()) > limits.max:
        raise InputError(f"{name} holds numbers that do not fit 32 bits")
    return np.array(np.broadcast_to(values, (batch, length)), dtype=np.int32)


def tokens_for(
    tokens: tuple[str, ...] | None, kv_tokens: tuple[str, ...] | None, q_len: int, kv_len: int
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Labels of queries and of keys. ``tokens`` without ``kv_tokens`` label whichever axes have their count.

    Raises InputError where a count fits nothing.
    """
    if kv_tokens is not None and len(kv_tokens) != kv_len:
        raise InputError(f"kv_tokens has {len(kv_tokens)} entries for {kv_len} keys")
    if tokens is None:
        return (), kv_tokens or ()
    fits_keys = kv_tokens is None and len(tokens) == kv_len
    if len(tokens) != q_len and not fits_keys:
        raise InputError(f"tokens has {len(tokens)} entries for {q_len} queries and {kv_len} keys")
    return tokens if len(tokens) == q_len else (), tokens if fits_keys else kv_tokens or ()
