"""A captured kernel as plain data: its grid, operands, scratch and equations."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True, eq=False)
class Operand:
    """One input or output of the kernel.

    ``block_shape`` has one int a dimension of the array; those in ``squeezed`` are 1 and absent from the kernel's
    reference, whose shape is ``ref_shape``. ``indexed_by_element`` lists dimensions whose block index counts elements
    (``pl.Element``), not blocks. ``memory``: hbm+vmem (pipelined into VMEM), smem, any or hbm (left where it is).
    ``buffers``: VMEM buffers of a pipelined block.
    """

    name: str
    direction: Literal["in", "out"]
    shape: tuple[int, ...]
    dtype: np.dtype
    block_shape: tuple[int, ...]
    squeezed: tuple[int, ...]
    indexed_by_element: tuple[int, ...]
    memory: str
    buffers: int = 2

    @property
    def ref_shape(self) -> tuple[int, ...]:
        """Shape of the reference that the kernel sees: the block without its squeezed dimensions."""
        return tuple(size for dim, size in enumerate(self.block_shape) if dim not in self.squeezed)

    @property
    def padded_shape(self) -> tuple[int, ...]:
        """The array's shape rounded up to whole blocks."""
        return tuple(-(-size // block) * block for size, block in zip(self.shape, self.block_shape, strict=True))

    @property
    def pipelined(self) -> bool:
        """Whether blocks of it are copied between HBM and VMEM step by step."""
        return self.memory == "hbm+vmem"


@dataclass(frozen=True, eq=False)
class Scratch:
    """Memory that the kernel keeps between grid steps. ``memory``: vmem, smem, semaphore, ..."""

    name: str
    shape: tuple[int, ...]
    dtype: Any
    memory: str

    @property
    def carried(self) -> bool:
        """Whether its content is an array that a driver can keep (a semaphore's is not)."""
        return "semaphore" not in self.memory


@dataclass(frozen=True, eq=False)
class Equation:
    """One result of one equation of the kernel body.

    ``path`` says where it sits: () at the top, else for example ("cond[1]", "scan"). ``scope`` is the whole
    ``jax.named_scope`` path. ``trips`` are the static lengths of the loops around it, outermost first: a probed value
    has these as leading axes. ``last_trip_only``: it sits in a loop of unknown length, and its value is that of the
    last trip. ``region`` numbers the branch or loop body that it runs with.
    """

    index: int
    primitive: str
    shape: tuple[int, ...]
    dtype: np.dtype
    file: str
    line: int
    function: str
    scope: str
    path: tuple[str, ...] = ()
    trips: tuple[int, ...] = ()
    last_trip_only: bool = False
    region: int = 0
    key: tuple = field(default=(), repr=False)

    @property
    def is_float(self) -> bool:
        """Whether the value is floating-point (bfloat16 and its like included)."""
        return self.dtype.kind == "f" or self.dtype.name.startswith(("bfloat", "float"))


@dataclass(frozen=True, eq=False)
class Program:
    """A kernel captured from one call of a function.

    ``operands``: inputs, then outputs. ``prefetch``: names of the scalar-prefetch operands, with their values in
    ``prefetch_values``. ``input_values``: the arrays that the call got, one an input. ``aliases``: (input, output)
    positions among ``operands`` that share memory. ``finish`` turns the kernel's outputs into those of the function;
    ``plain`` runs the whole function, not driven, in the interpreter where there is no TPU.
    """

    name: str
    grid: tuple[int, ...]
    operands: tuple[Operand, ...]
    scratch: tuple[Scratch, ...]
    equations: tuple[Equation, ...]
    prefetch: tuple[str, ...]
    prefetch_values: tuple[Any, ...] = field(repr=False)
    input_values: tuple[Any, ...] = field(repr=False)
    aliases: tuple[tuple[int, int], ...]
    regions: int
    visible_axes: tuple[int, ...]
    """Grid axes that ``pl.program_id`` counts: all but those that ``jax.vmap`` added."""
    vmem_limit: int | None
    indices: tuple[np.ndarray, ...] = field(repr=False)
    equation: Any = field(repr=False)
    finish: Callable[[Sequence[Any]], Any] = field(repr=False)
    plain: Callable[[], Any] = field(repr=False)
    compiled: dict[Any, Any] = field(default_factory=dict, repr=False)
    """Instrumented calls compiled so far, shared by all drivers of the program."""

    @cached_property
    def steps(self) -> int:
        """Number of grid steps."""
        return int(np.prod(self.grid, dtype=np.int64))

    @cached_property
    def inputs(self) -> tuple[Operand, ...]:
        """Operands that the kernel reads."""
        return tuple(item for item in self.operands if item.direction == "in")

    @cached_property
    def outputs(self) -> tuple[Operand, ...]:
        """Operands that the kernel writes."""
        return tuple(item for item in self.operands if item.direction == "out")

    def coords(self, step: int) -> tuple[int, ...]:
        """Grid coordinates of a step; the last axis runs fastest."""
        return tuple(int(axis) for axis in np.unravel_index(step, self.grid)) if self.grid else ()

    def operand(self, name: str) -> Operand:
        """The operand of a name. Raises KeyError."""
        return self.operands[self._position(name)]

    def block_indices(self, name: str | Operand) -> np.ndarray:
        """int32 (steps, ndim): block index of an operand at every grid step, as its index map gives it."""
        return self.indices[self._position(name if isinstance(name, str) else name.name)]

    def _position(self, name: str) -> int:
        for position, item in enumerate(self.operands):
            if item.name == name:
                return position
        raise KeyError(f"{self.name} has no operand {name}; it has {', '.join(o.name for o in self.operands)}")
