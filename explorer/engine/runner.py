"""Compiles the instrumented calls of a program and runs them; holds no history."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from explorer.engine import _jax_internals as internals
from explorer.engine.capture import interpreted
from explorer.engine.errors import DriveError, one_line
from explorer.engine.index_maps import block_starts
from explorer.engine.instrument import Carry, Ran, build
from explorer.engine.output_store import OutputStore
from explorer.engine.program import Equation, Operand, Program


class Runner:
    """Runs grid steps of a program from a given carry. ``compile_seconds`` sums all compilations so far."""

    def __init__(self, program: Program, store: OutputStore, chunk: int) -> None:
        self.program = program
        self.chunk = chunk
        self.compile_seconds = 0.0
        self._store = store
        self._arrays = tuple(_padded(item, v) for item, v in zip(program.inputs, program.input_values, strict=True))

    def first_carry(self) -> Carry:
        """What step 0 finds: memory that nothing has written."""
        scratch = [internals.uninitialised(item.shape, item.dtype) for item in self.program.scratch if item.carried]
        outputs = [internals.uninitialised(item.ref_shape, item.dtype) for item in self.program.outputs]
        return Carry(tuple(scratch), tuple(outputs))

    def run(self, carry: Carry, first: int, count: int = 1, probed: Sequence[Equation] = ()) -> Ran:
        """Run ``count`` <= ``chunk`` steps from ``first``; waits for every result. Raises DriveError.

        Probes are for one step. Without them a single step runs in the very program that runs many: compiled by
        itself it can be fused otherwise, and then differ in the last bit.

        An output that begins a new block in a later step of the chunk gets an empty one; where the first step begins
        one that was visited before, the caller has put it in ``carry`` (see ``begin_blocks``).
        """
        arguments = self._arguments(carry, first, count, 1 if probed else self.chunk)
        compiled = self._compiled_for(tuple(probed), arguments)
        try:
            return jax.block_until_ready(compiled(*arguments))
        except Exception as error:
            raise DriveError(f"{self.program.name} raises in grid step {first}: {one_line(error)}") from error

    def compile_for(self, carry: Carry, probed: Sequence[Equation]) -> None:
        """Compile now what ``run`` would compile at first use."""
        self._compiled_for(tuple(probed), self._arguments(carry, 0, 1, 1 if probed else self.chunk))

    def begin_blocks(self, carry: Carry, step: int) -> Carry:
        """``carry`` with the blocks that step ``step`` comes back to, as they were left."""
        outputs = list(carry.outputs)
        for position, runs in enumerate(self._store.runs):
            previous = runs.previous[runs.run_of[step]] if runs.begins(step) else -1
            if previous >= 0:
                outputs[position] = jnp.asarray(self._store.block(position, int(previous)))
        return Carry(carry.scratch, tuple(outputs))

    def _arguments(self, carry: Carry, first: int, count: int, chunk: int) -> tuple[Any, ...]:
        steps = np.minimum(np.arange(first, first + chunk), self.program.steps - 1)
        starts = tuple(block_starts(item, self.program.block_indices(item)[steps]) for item in self.program.inputs)
        control = np.concatenate([self._grid_coords(steps).reshape(-1), self._fresh(steps).reshape(-1)])
        return np.int32(count), control.astype(np.int32), starts, self._arrays, self.program.prefetch_values, carry

    def _grid_coords(self, steps: np.ndarray) -> np.ndarray:
        if not self.program.grid:
            return np.zeros((len(steps), 0), np.int32)
        return np.stack(np.unravel_index(steps, self.program.grid), axis=1)

    def _fresh(self, steps: np.ndarray) -> np.ndarray:
        """int (steps, outputs): 1 where an output begins a block that nothing has written yet."""
        columns = []
        for runs in self._store.runs:
            run = runs.run_of[steps]
            columns.append((runs.first[run] == steps) & (runs.previous[run] < 0))
        return np.stack(columns, axis=1)

    def _compiled_for(self, probed: tuple[Equation, ...], arguments: tuple[Any, ...]) -> Any:
        key = (1 if probed else self.chunk, tuple(equation.index for equation in probed))
        compiled = self.program.compiled
        if key not in compiled:
            began = time.perf_counter()
            function = jax.jit(build(self.program, 1 if probed else self.chunk, probed, interpreted()))
            try:
                compiled[key] = function.lower(*arguments).compile()
            except Exception as error:
                raise DriveError(f"{self.program.name} cannot be compiled step by step: {one_line(error)}") from error
            self.compile_seconds += time.perf_counter() - began
        return compiled[key]


def _padded(operand: Operand, value: Any) -> Any:
    """An input rounded up to whole blocks, filled as the interpreter fills."""
    value = jnp.asarray(value)
    if tuple(value.shape) == operand.padded_shape:
        return value
    width = [(0, to - size) for size, to in zip(operand.shape, operand.padded_shape, strict=True)]
    return jnp.pad(value, width, constant_values=internals.uninitialised((), operand.dtype))
