"""The kernel function that runs one grid step of a captured kernel and lays open what its equations give."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.experimental import pallas as pl

from explorer.engine import _jax_internals as internals
from explorer.engine._reemit import Emitter
from explorer.engine.equations import regions_of
from explorer.engine.program import Equation, Operand, Program


@dataclass(frozen=True, eq=False)
class Layout:
    """How references of the new call line up: counts of each kind, in order."""

    program: Program
    chunk: int
    probed: tuple[Equation, ...]

    @property
    def carried(self) -> tuple[int, ...]:
        """Positions of the scratch that can be carried."""
        return tuple(i for i, item in enumerate(self.program.scratch) if item.carried)

    @property
    def stacked(self) -> bool:
        """Whether outputs are given for each step; a probed step's are its carry."""
        return not self.probed

    def control_size(self) -> int:
        """Scalars that describe a chunk: grid coordinates, then for each output whether a step begins a new block."""
        return self.chunk * (len(self.program.grid) + len(self.program.outputs))


def take(items: list[Any], count: int) -> tuple[Any, ...]:
    taken, items[:count] = tuple(items[:count]), []
    return taken


def stored_dtype(equation: Equation) -> Any:
    """Truth values, and scalars (which live in SMEM) of less than 32 bits, are kept in 32 bits."""
    if equation.dtype == np.bool_:
        return jnp.int32
    if not equation.shape and equation.dtype.itemsize < 4:
        return jnp.float32 if equation.is_float else jnp.int32
    return equation.dtype


def kernel_body(layout: Layout) -> Callable[..., None]:
    """The new kernel: references in the order that ``instrument`` gives their specs."""
    program = layout.program
    outputs, carried = len(program.outputs), len(layout.carried)

    def kernel(control: Any, *refs: Any) -> None:
        left = list(refs)
        prefetch, inputs = take(left, len(program.prefetch)), take(left, len(program.inputs))
        carry_in, carry_out = take(left, carried + outputs), take(left, carried + outputs)
        stacks = take(left, outputs if layout.stacked else 0)
        probes = take(left, len(layout.probed))
        flags = take(left, 1)[0] if layout.probed else None
        step = pl.program_id(0)
        spaces = [program.scratch[i].memory for i in layout.carried] + [item.memory for item in program.outputs]
        _when(layout.stacked, step == 0, lambda: _copy_all(carry_in, carry_out, spaces))
        scratch, out_refs = carry_out[:carried], carry_out[carried:]
        _begin_blocks(layout, control, step, inputs, out_refs)
        scratch_refs = _merge(layout, scratch, left)
        _emit(layout, control, step, [*prefetch, *inputs, *out_refs, *scratch_refs], probes, flags)
        _copy_all(out_refs, stacks, spaces[carried:])

    return kernel


def _when(conditional: bool, condition: Any, action: Callable[[], None]) -> None:
    if conditional:
        pl.when(condition)(action)
    else:
        action()


def _copy_all(sources: Sequence[Any], targets: Sequence[Any], spaces: Sequence[str]) -> None:
    for source, target, space in zip(sources, targets, spaces, strict=False):
        _store(target, source.__getitem__, space)


def _store(ref: Any, value_at: Callable[[Any], Any], space: str, where: tuple[Any, ...] = ()) -> None:
    """Write ``value_at(index)`` everywhere; SMEM takes scalars only, so there it goes element by element."""
    if space != "smem":
        ref[...] = value_at(...)
    elif len(where) == len(ref.shape):
        ref[where] = value_at(where)
    else:
        jax.lax.fori_loop(0, ref.shape[len(where)], lambda i, _: _store(ref, value_at, space, (*where, i)), None)


def _begin_blocks(layout: Layout, control: Any, step: Any, inputs: Sequence[Any], outputs: Sequence[Any]) -> None:
    """Where a step begins a new output block, put in what the block held before it: nothing, or an aliased input."""
    program = layout.program
    sources = {target - len(program.inputs): inputs[source] for source, target in program.aliases}
    offset = layout.chunk * len(program.grid)
    for position, (item, ref) in enumerate(zip(program.outputs, outputs, strict=True)):
        before = partial(_before_any_step, item, sources.get(position))
        begins = control[offset + step * len(program.outputs) + position] == 1
        pl.when(begins)(partial(_store, ref, before, item.memory))


def _before_any_step(operand: Operand, source: Any, where: Any) -> Any:
    if source is not None:
        return source[where]
    return internals.uninitialised(() if where is not Ellipsis else operand.ref_shape, operand.dtype)


def _merge(layout: Layout, carried: Sequence[Any], others: Sequence[Any]) -> list[Any]:
    """Scratch references in the kernel's own order."""
    carried_left, others_left = iter(carried), iter(others)
    return [next(carried_left) if item.carried else next(others_left) for item in layout.program.scratch]


def _emit(layout: Layout, control: Any, step: Any, refs: Sequence[Any], probes: Sequence[Any], flags: Any) -> None:
    program = layout.program
    axes = len(program.grid)
    emitter = Emitter(
        coords=[control[step * axes + axis] for axis in program.visible_axes],
        grid=[program.grid[axis] for axis in program.visible_axes],
        on_value=_value_hook(layout, probes) if layout.probed else None,
        on_region=_region_hook(layout, flags) if layout.probed else None,
    )
    emitter.run(program.equation.params["jaxpr"], refs)


def _value_hook(layout: Layout, probes: Sequence[Any]) -> Callable[[tuple, Any, tuple], None]:
    targets = {equation.key: (equation, ref) for equation, ref in zip(layout.probed, probes, strict=True)}

    def on_value(key: tuple, value: Any, trips: tuple) -> None:
        if key not in targets:
            return
        equation, ref = targets[key]
        rank = len(equation.trips) + len(equation.shape)
        where = (0,) * (2 - rank) + tuple(trips) + (slice(None),) * len(equation.shape)
        ref[where] = value.astype(stored_dtype(equation))

    return on_value


def _region_hook(layout: Layout, flags: Any) -> Callable[[tuple], None]:
    numbers = regions_of(layout.program.equation.params["jaxpr"])
    for number in range(layout.program.regions):
        flags[0, number] = jnp.int32(number == 0)

    def on_region(key: tuple) -> None:
        flags[0, numbers[key]] = jnp.int32(1)

    return on_region
