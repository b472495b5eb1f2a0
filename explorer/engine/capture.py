"""Captures the Pallas kernel that a function calls, without touching the kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

import jax
import numpy as np

from explorer.engine import _jax_internals as internals, outer
from explorer.engine.equations import list_equations
from explorer.engine.errors import CaptureError
from explorer.engine.index_maps import block_indices
from explorer.engine.program import Equation, Operand, Program, Scratch

__all__ = ["CaptureError", "Equation", "Operand", "Program", "Scratch", "capture"]

_KNOWN_DIMENSIONS = ("Blocked", "Squeezed", "Element")


def capture(function: Callable[..., Any], *arguments: Any, which: int | None = None) -> Program:
    """Trace ``function(*arguments)``, find its ``pallas_call`` and compute what goes into it.

    The call may sit inside ``jax.jit``, ``jax.vmap``, ``custom_vjp`` and the like. ``which`` chooses among several.
    Raises CaptureError, in one plain sentence: the function raises, holds no kernel or several, uses something that
    cannot be driven (named), or an index map points outside its array.
    """
    call = outer.split(function, arguments, which)
    params = call.equation.params
    mapping, kernel = params["grid_mapping"], params["jaxpr"]
    _refuse_unknown(params, mapping)
    dynamic = mapping.num_dynamic_grid_bounds
    grid = _static_grid(mapping.grid, call.operands[:dynamic])
    prefetch_count = mapping.num_index_operands
    prefetch = call.operands[dynamic : dynamic + prefetch_count]
    tables, operands, scratch = _memory(kernel, mapping)
    _refuse_written_inputs(kernel, prefetch_count, operands)
    indices = block_indices(mapping, grid, prefetch, operands)
    equations, regions = list_equations(kernel)
    aliases = tuple((i - prefetch_count, mapping.num_inputs + o) for i, o in params["input_output_aliases"])
    _refuse_unsafe_aliases(aliases, operands, indices)
    return Program(
        name=params["name"] or "kernel",
        grid=grid,
        operands=operands,
        scratch=scratch,
        equations=equations,
        prefetch=tables,
        prefetch_values=tuple(prefetch),
        input_values=tuple(call.operands[dynamic + prefetch_count :]),
        aliases=aliases,
        regions=regions,
        visible_axes=tuple(axis for axis in range(len(grid)) if axis not in mapping.vmapped_dims),
        vmem_limit=internals.vmem_limit(params["compiler_params"]),
        indices=indices,
        equation=call.equation,
        finish=call.finish,
        plain=call.plain,
    )


def _memory(kernel: Any, mapping: Any) -> tuple[tuple[str, ...], tuple[Operand, ...], tuple[Scratch, ...]]:
    """Names of the scalar-prefetch operands, the blocked operands, and the scratch."""
    names, count = _names(kernel, mapping), mapping.num_index_operands
    operands = _operands(mapping, names[count:])
    return names[:count], operands, _scratch(mapping.scratch_avals, names[count + len(operands) :])


def _static_grid(grid: Sequence[Any], dynamic: Sequence[Any]) -> tuple[int, ...]:
    bounds = iter(dynamic)
    sizes = tuple(size if isinstance(size, int) else int(next(bounds)) for size in grid)
    if any(size < 1 for size in sizes):
        raise CaptureError(f"the grid {sizes} has an axis of length 0: there is no grid step to drive")
    return sizes


def _names(kernel: Any, mapping: Any) -> tuple[str, ...]:
    """Parameter names of the kernel, made unique; invented where JAX keeps none."""
    counts = {
        "table": mapping.num_index_operands,
        "in": mapping.num_inputs,
        "out": mapping.num_outputs,
        "scratch": len(mapping.scratch_avals),
    }
    invented = [f"{kind}{number}" for kind, count in counts.items() for number in range(count)]
    given = internals.argument_names(kernel) or tuple(invented)
    names: list[str] = []
    for name, fallback in zip(given, invented, strict=True):
        names.append(name if name and name not in names else fallback)
    return tuple(names)


def _operands(mapping: Any, names: Sequence[str]) -> tuple[Operand, ...]:
    directions: list[Literal["in", "out"]] = []
    directions += ["in"] * mapping.num_inputs
    directions += ["out"] * mapping.num_outputs
    return tuple(
        _operand(block, name, direction)
        for block, name, direction in zip(mapping.block_mappings, names, directions, strict=False)
    )


def _operand(block: Any, name: str, direction: Literal["in", "out"]) -> Operand:
    dimensions = internals.block_dimensions(block)
    for kind, _ in dimensions:
        if kind not in _KNOWN_DIMENSIONS:
            raise CaptureError(f"{name} has a block dimension of kind {kind}, which cannot be driven")
    if internals.element_padding(block):
        raise CaptureError(f"{name} has a pl.Element block dimension with padding, which cannot be driven")
    if block.transforms:
        raise CaptureError(f"{name} has a block with transforms, which cannot be driven")
    memory = internals.memory_name(block.ref_aval)
    return Operand(
        name=name,
        direction=direction,
        shape=tuple(block.array_aval.shape),
        dtype=np.dtype(block.array_aval.dtype),
        block_shape=tuple(size for _, size in dimensions),
        squeezed=tuple(dim for dim, (kind, _) in enumerate(dimensions) if kind == "Squeezed"),
        indexed_by_element=tuple(dim for dim, (kind, _) in enumerate(dimensions) if kind == "Element"),
        memory="hbm+vmem" if memory == "vmem" else memory,
        buffers=internals.buffer_count(block),
    )


def _scratch(avals: Sequence[Any], names: Sequence[str]) -> tuple[Scratch, ...]:
    return tuple(
        Scratch(
            name=name,
            shape=tuple(aval.shape),
            dtype=aval.dtype,
            memory="semaphore" if internals.is_semaphore(aval) else internals.memory_name(aval),
        )
        for aval, name in zip(avals, names, strict=True)
    )


def _refuse_unknown(params: dict[str, Any], mapping: Any) -> None:
    if mapping.local_grid_env is not None or mapping.get_grid_indices is not None:
        raise CaptureError("the kernel runs on a mesh (core_map or a grid of several cores), which cannot be driven")
    if params.get("mesh") is not None:
        raise CaptureError("the kernel runs on a device mesh, which cannot be driven")


def _refuse_written_inputs(kernel: Any, prefetch_count: int, operands: Sequence[Operand]) -> None:
    for position in internals.written_refs(kernel):
        at = position - prefetch_count
        if 0 <= at < len(operands) and operands[at].direction == "in":
            raise CaptureError(f"the kernel writes to its input {operands[at].name}, which cannot be driven")


def _refuse_unsafe_aliases(
    aliases: Sequence[tuple[int, int]], operands: Sequence[Operand], indices: Sequence[np.ndarray]
) -> None:
    """An aliased output may not change what a later step reads: each block must be visited once, by both alike."""
    for source, target in aliases:
        same = operands[source].block_shape == operands[target].block_shape
        same = same and np.array_equal(indices[source], indices[target])
        if not same or len(np.unique(indices[target], axis=0)) != len(indices[target]):
            raise CaptureError(
                f"output {operands[target].name} shares memory with input {operands[source].name} and is read again "
                "after it was written, which cannot be driven"
            )


def interpreted() -> bool:
    """Whether kernels run in the Pallas interpreter here: everywhere but on a TPU."""
    return jax.default_backend() != "tpu"
