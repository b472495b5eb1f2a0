"""Evaluates index maps at all grid steps at once."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import jax
import numpy as np

from explorer.engine import _jax_internals as internals
from explorer.engine.errors import CaptureError
from explorer.engine.program import Operand

_STEPS_AT_ONCE = 1 << 18


def block_indices(
    mapping: Any, grid: tuple[int, ...], prefetch: Sequence[Any], operands: Sequence[Operand]
) -> tuple[np.ndarray, ...]:
    """int32 (steps, ndim) for each operand: the block index at each grid step.

    A dimension that counts elements (``pl.Element``) gives the first element. Raises CaptureError where a block
    starts outside its array; the interpreter would silently move it back inside.
    """
    steps = int(np.prod(grid, dtype=np.int64))

    def starts_at(coords: tuple[Any, ...]) -> list[tuple[Any, ...]]:
        return [internals.start_indices(block, coords, prefetch) for block in mapping.block_mappings]

    evaluate = jax.jit(jax.vmap(starts_at))
    parts: list[list[np.ndarray]] = [[] for _ in operands]
    for first in range(0, steps, _STEPS_AT_ONCE):
        numbers = np.arange(first, min(first + _STEPS_AT_ONCE, steps))
        coords = tuple(axis.astype(np.int32) for axis in np.unravel_index(numbers, grid)) if grid else ()
        found = evaluate(coords) if grid else [tuple(np.asarray(i)[None] for i in s) for s in starts_at(())]
        for part, starts, operand in zip(parts, found, operands, strict=True):
            part.append(_to_indices(starts, operand, len(numbers)))
    indices = tuple(np.concatenate(part) for part in parts)
    for operand, index in zip(operands, indices, strict=True):
        _refuse_outside(operand, index, grid)
    return indices


def _to_indices(starts: Sequence[Any], operand: Operand, steps: int) -> np.ndarray:
    if not starts:
        return np.zeros((steps, 0), np.int32)
    columns = [
        np.asarray(start) // (1 if dim in operand.indexed_by_element else operand.block_shape[dim])
        for dim, start in enumerate(starts)
    ]
    return np.stack([np.broadcast_to(column, (steps,)) for column in columns], axis=1).astype(np.int32)


def block_starts(operand: Operand, indices: np.ndarray) -> np.ndarray:
    """Block indices int32 (..., ndim) to first elements."""
    sizes = [1 if dim in operand.indexed_by_element else size for dim, size in enumerate(operand.block_shape)]
    return (indices * np.asarray(sizes, np.int32).reshape(-1)).astype(np.int32)


def _refuse_outside(operand: Operand, indices: np.ndarray, grid: tuple[int, ...]) -> None:
    starts = block_starts(operand, indices)
    sizes = [
        operand.padded_shape[dim] - operand.block_shape[dim] + 1 if dim in operand.indexed_by_element else size
        for dim, size in enumerate(operand.shape)
    ]
    outside = ((starts < 0) | (starts >= np.asarray(sizes, np.int32).reshape(-1))).any(axis=1)
    if outside.any():
        step = int(np.flatnonzero(outside)[0])
        block = tuple(int(i) for i in indices[step])
        raise CaptureError(
            f"at grid step {step} the index map of {operand.name} names block {block}, outside its array of shape "
            f"{operand.shape} with blocks of {operand.block_shape}"
        )
