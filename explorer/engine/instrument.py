"""Builds the call that runs grid steps of a captured kernel one by one, with what its equations give laid open.

The kernel body is re-emitted inside a new ``pallas_call`` with a one-dimensional grid. What belongs to a step (its grid
coordinates, which outputs begin a new block) comes as a scalar-prefetch argument, its blocks are gathered from the
operands before the call: nothing depends on the step but data, so one compilation serves them all, and its cost
does not grow with the arrays. Scratch and output blocks are carried in and out.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from explorer.engine import _jax_internals as internals
from explorer.engine._body import Layout, kernel_body, stored_dtype, take
from explorer.engine.program import Equation, Operand, Program

_ROOM_WITHOUT_ASKING = 12 << 20
"""Bytes of VMEM that every TPU generation grants a kernel without ``vmem_limit_bytes``."""


class Carry(NamedTuple):
    """What one grid step leaves to the next: scratch (those that can be carried) and the output blocks."""

    scratch: tuple[Any, ...]
    outputs: tuple[Any, ...]


class Ran(NamedTuple):
    """What a run of steps gives.

    stacks: without probes, the output block after each step, an array (chunk, *block) an output. blocks: the gathered
    input blocks, likewise. probes: value of each probed equation in the (only) step. flags: int32 (1, regions), whether
    a branch or loop body ran; empty without probes.
    """

    carry: Carry
    stacks: tuple[Any, ...]
    blocks: tuple[Any, ...]
    probes: tuple[Any, ...]
    flags: tuple[Any, ...]


def build(program: Program, chunk: int, probed: Sequence[Equation] = (), interpret: bool = True) -> Callable[..., Ran]:
    """A traceable function ``(count, control, starts, arrays, prefetch, carry) -> Ran`` of ``count`` <= chunk steps.

    control: int32 (Layout.control_size(),). starts: int32 (chunk, ndim) an input, first elements of its blocks.
    arrays: the inputs, padded to whole blocks. Probes need a chunk of 1.
    """
    if probed and chunk != 1:
        raise ValueError("probes are for single steps")
    layout = Layout(program, chunk, tuple(probed))
    constant = tuple(_is_constant(program, item) for item in program.inputs)

    def run(count: Any, control: Any, starts: Any, arrays: Any, prefetch: Any, carry: Carry) -> Ran:
        gathered = [
            _gather(item, array, start, 1 if same else chunk)
            for item, array, start, same in zip(program.inputs, arrays, starts, constant, strict=True)
        ]
        call = _call(layout, constant, count, interpret)
        results = list(call(control, *prefetch, *gathered, *carry.scratch, *carry.outputs))
        scratch, outputs = take(results, len(carry.scratch)), take(results, len(carry.outputs))
        stacks = take(results, len(outputs) if layout.stacked else 0)
        probes = take(results, len(layout.probed))
        return Ran(Carry(scratch, outputs), stacks, tuple(gathered), probes, tuple(results))

    return run


def _is_constant(program: Program, operand: Operand) -> bool:
    """Whether an operand has one and the same block at every step."""
    indices = program.block_indices(operand)
    return bool((indices == indices[:1]).all())


def _gather(operand: Operand, array: Any, starts: Any, count: int) -> Any:
    """Blocks of some steps, (count, *stacked reference shape)."""

    def one(start: Any) -> Any:
        block = jax.lax.dynamic_slice(array, tuple(start), operand.block_shape)
        return block.reshape(_at_least_2d(operand.ref_shape))

    if count == 1:
        return one(starts[0])[None]
    return jax.vmap(one)(starts)


def _at_least_2d(shape: Sequence[int]) -> tuple[int, ...]:
    return (1,) * (2 - len(shape)) + tuple(shape)


def _block_spec(operand: Operand, whole: bool) -> pl.BlockSpec:
    """Spec of one step's block in a stack of blocks; ``whole``: the same block at every step."""
    rank = len(operand.ref_shape)
    lead = (None,) * (1 + max(0, 2 - rank))
    ndim = 1 + max(2, rank)

    def index(step: Any, *_: Any) -> tuple[Any, ...]:
        return (0 if whole else step, *(0,) * (ndim - 1))

    return pl.BlockSpec((*lead, *operand.ref_shape), index, memory_space=_space(operand.memory))


def _space(memory: str) -> Any:
    spaces = {"hbm+vmem": pltpu.VMEM, "vmem": pltpu.VMEM, "smem": pltpu.SMEM}
    return spaces.get(memory, pltpu.VMEM)


def _call(layout: Layout, constant: Sequence[bool], count: Any, interpret: bool) -> Callable[..., Any]:
    program = layout.program
    scratch = [program.scratch[i] for i in layout.carried]
    spaces = [item.memory for item in scratch] + [item.memory for item in program.outputs]
    carry_specs = [pl.BlockSpec(memory_space=_space(memory)) for memory in spaces]
    carry_shapes = [jax.ShapeDtypeStruct(item.shape, item.dtype) for item in scratch]
    carry_shapes += [jax.ShapeDtypeStruct(item.ref_shape, item.dtype) for item in program.outputs]
    stack_specs, stack_shapes = [], []
    if layout.stacked:
        stack_specs = [_block_spec(item, whole=False) for item in program.outputs]
        stack_shapes = [
            jax.ShapeDtypeStruct((layout.chunk, *_at_least_2d(item.ref_shape)), item.dtype) for item in program.outputs
        ]
    probe_specs, probe_shapes = _probe_outputs(layout)
    uncarried = [
        internals.SameScratch(aval)
        for item, aval in zip(program.scratch, _scratch_avals(program), strict=True)
        if not item.carried
    ]
    grid_spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1 + len(program.prefetch),
        grid=(count,),
        in_specs=[_block_spec(item, same) for item, same in zip(program.inputs, constant, strict=True)] + carry_specs,
        out_specs=[*carry_specs, *stack_specs, *probe_specs],
        scratch_shapes=uncarried,
    )
    return pl.pallas_call(
        kernel_body(layout),
        grid_spec=grid_spec,
        out_shape=[*carry_shapes, *stack_shapes, *probe_shapes],
        interpret=interpret,
        compiler_params=_compiler_params(layout),
        name=f"{program.name}_driven",
    )


def _scratch_avals(program: Program) -> Sequence[Any]:
    return program.equation.params["grid_mapping"].scratch_avals


def _compiler_params(layout: Layout) -> Any:
    """Ask for more VMEM where the probes' own buffers need it, so that a kernel that fits can still be probed."""
    probes = sum(int(np.prod((*e.trips, *e.shape), dtype=np.int64)) * e.dtype.itemsize for e in layout.probed)
    blocks = sum(int(np.prod(item.block_shape)) * item.dtype.itemsize for item in layout.program.operands)
    need = 2 * (probes + 4 * blocks)
    limit = max(layout.program.vmem_limit or 0, need if need > _ROOM_WITHOUT_ASKING else 0)
    return pltpu.CompilerParams(vmem_limit_bytes=limit or None)


def _probe_outputs(layout: Layout) -> tuple[list[Any], list[Any]]:
    specs, shapes = [], []
    for equation in layout.probed:
        specs.append(pl.BlockSpec(memory_space=pltpu.VMEM if equation.shape else pltpu.SMEM))
        shapes.append(jax.ShapeDtypeStruct(_at_least_2d((*equation.trips, *equation.shape)), stored_dtype(equation)))
    if layout.probed:
        specs.append(pl.BlockSpec(memory_space=pltpu.SMEM))
        shapes.append(jax.ShapeDtypeStruct((1, layout.program.regions), jnp.int32))
    return specs, shapes
