"""The kernel on the bench: a configured problem with everything derived from it once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from explorer.attention.lens import Lens
from explorer.attention.references import References
from explorer.engine.driver import Driver
from explorer.engine.pipeline import Pipeline
from explorer.engine.program import Program
from explorer.link.messages import ChipInfo, StepTiming
from kernels.catalog import AttentionKernel, AttentionOutput
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

Operands = tuple[np.ndarray, np.ndarray, np.ndarray]


@dataclass(frozen=True, eq=False)
class Driven:
    """What only a Pallas kernel has: a program that can be driven, seen through a lens.

    order: int32 (steps, 4): batch, head, q block, kv block. computed: bool (steps,). tile_states: int8
    (batch, heads, q blocks, kv blocks).
    """

    program: Program
    driver: Driver
    pipeline: Pipeline
    lens: Lens
    order: np.ndarray
    computed: np.ndarray
    tile_states: np.ndarray
    step_timings: dict[bool, StepTiming] = field(default_factory=dict)
    """By whether the step computes a tile; measured once each."""
    probabilities: dict[int, tuple[slice, slice, np.ndarray, np.ndarray]] = field(default_factory=dict)
    """By step: rows, keys, P (rows, keys) and m (rows,) after it, as the kernel held them."""

    covered: dict[tuple[int, int], tuple[int, int, int]] = field(default_factory=dict)
    """By (batch, head): allowed pairs, covered pairs, tiles visited twice (see ``partition``)."""

    @property
    def steps(self) -> int:
        return self.program.steps

    @cached_property
    def moved(self) -> np.ndarray:
        """int64 (steps,): bytes moved between HBM and VMEM up to and with each step, padded."""
        return np.cumsum(self.pipeline.load_bytes.sum(axis=1) + self.pipeline.store_bytes.sum(axis=1))

    def head_steps(self, batch: int, head: int) -> np.ndarray:
        """Grid steps of one head, in order; all of them where the grid is not known and both are -1."""
        return np.flatnonzero((self.order[:, 0] == batch) & (self.order[:, 1] == head))


@dataclass(frozen=True, eq=False)
class Subject:
    """A problem, its operands (float32 arrays of values already rounded to the problem's dtype) and a kernel."""

    problem: AttentionProblem
    blocks: BlockSizes
    kernel: AttentionKernel
    chip: ChipInfo
    operands: Operands
    function: Callable[..., AttentionOutput]
    arguments: tuple
    """The operands as JAX arrays in the problem's dtype."""
    references: References
    driven: Driven | None
    ran_on: str
    compile_ms: float
