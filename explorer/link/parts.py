"""What messages are made of: plain structs of operands, buffers, transfers, stages and timings. NumPy only."""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

Role = Literal["q", "k", "v", "scores", "softmax", "acc", "output", "other"]
"""Colour role of a thing on screen: scores covers S and P, softmax covers m and l, acc and output share a colour."""
Source = Literal["execution", "compiler", "model"]
"""Where a number comes from: the kernel's own run, the compiler, or a named model."""


class OperandInfo(msgspec.Struct, frozen=True, kw_only=True):
    """One input or output of the kernel. Bytes: logical, and as laid out in (8, 128) tiles of its dtype."""

    name: str
    role: Role
    direction: Literal["in", "out"]
    shape: tuple[int, ...]
    dtype: str
    block_shape: tuple[int, ...]
    block_grid: tuple[int, ...]
    """How many blocks along each dimension."""
    bytes: int
    block_bytes: int
    block_bytes_padded: int
    memory: str
    """hbm+vmem (blocked and pipelined), smem, any."""


class BufferInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Something that takes VMEM. ``slots`` is 2 for a double-buffered block, 1 for scratch and temporaries."""

    name: str
    role: Role
    kind: Literal["block", "scratch", "temporary"]
    shape: tuple[int, ...]
    dtype: str
    slots: int
    bytes: int
    """All slots, logical."""
    bytes_padded: int
    """All slots, as laid out in (8, 128) tiles ((16, 128) for 2-byte types)."""


class ChipInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Facts of a chip, per core, and their source."""

    name: str
    vmem_bytes: int
    scoped_limit_bytes: int
    scoped_limit_source: str
    smem_bytes: int
    hbm_bytes: int
    hbm_bytes_per_second: float
    bf16_flops_per_second: float
    mxu_count: int
    """Per core; 0 where this JAX does not report it."""
    mxu_size: int
    source: str


class MemoryInfo(msgspec.Struct, frozen=True, kw_only=True):
    """Static memory figures of a configuration, in bytes. ``vmem_peak`` is a model and a lower bound."""

    vmem_peak: int
    vmem_limit: int
    vmem_physical: int
    hbm_moved: int
    """All transfers of the whole run, as laid out (padded)."""
    hbm_moved_logical: int
    hbm_moved_naive: int
    """Naive, stated model: reads Q, K, V, writes and reads S and P once each, writes O, unpadded."""
    naive_matrix_bytes: int
    """What naive adds in HBM: S and P."""
    buffers: tuple[BufferInfo, ...]


class Timeline(msgspec.Struct, frozen=True, kw_only=True):
    """Whole run as arrays, one entry a grid step. Times in microseconds are a model of the chosen chip.

    load_bytes: int64 (steps, inputs) bytes copied in for this step, padded; 0 where the block repeats.
    store_bytes: int64 (steps, outputs) bytes copied out after this step.
    inputs, outputs: operand names of the columns.
    computed: bool (steps,), False where the tile is skipped.
    row_block: int32 (steps,), counts the row blocks (runs of steps that share an output block).
    load_us, compute_us, store_us: float64 (steps,).
    """

    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    load_bytes: np.ndarray
    store_bytes: np.ndarray
    computed: np.ndarray
    row_block: np.ndarray
    load_us: np.ndarray
    compute_us: np.ndarray
    store_us: np.ndarray
    model: str
    """In words: what the microseconds are."""


class Transfer(msgspec.Struct, frozen=True, kw_only=True):
    """One copy between HBM and VMEM that belongs to a grid step."""

    operand: str
    role: Role
    block: tuple[int, ...]
    direction: Literal["in", "out"]
    slot: int
    bytes: int
    logical_bytes: int


class BufferState(msgspec.Struct, frozen=True, kw_only=True):
    """What one VMEM slot holds during a grid step."""

    operand: str
    role: Role
    slot: int
    block: tuple[int, ...] | None
    state: Literal["empty", "in use", "loading", "held", "storing"]


class StageEvidence(msgspec.Struct, frozen=True, kw_only=True):
    """One of the five stages in one grid step. ``holds`` is None where nothing was checked (say why in evidence)."""

    number: int
    name: str
    consumed: str
    changed: str
    cost: str
    evidence: str
    holds: bool | None
    source: Source


class ProbedValue(msgspec.Struct, frozen=True, kw_only=True):
    """A floating-point equation of the kernel body, as it ran in this step (or did not: ``executed`` False)."""

    name: str
    primitive: str
    file: str
    line: int
    function: str
    scope: str
    stage: int
    """1 to 5, 0 where not known."""
    shape: tuple[int, ...]
    dtype: str
    executed: bool
    minimum: float
    maximum: float
    """Of the finite numbers; NaN where there are none."""
    nonfinite: int
    nans: int = 0
    """How many of the nonfinite are NaN: -inf stands in masked scores by design, NaN never does."""


class SoftmaxState(msgspec.Struct, frozen=True, kw_only=True):
    """Running softmax of the current row block, float32 (rows,), before and after this step. Padding rows cut off.

    -inf in m is a row that has seen no key yet. alpha = exp(m_before - m_after), 1 where m did not move.
    new_sum is this tile's own sum of P, so l_after = alpha * l_before + new_sum.
    """

    m_before: np.ndarray
    m_after: np.ndarray
    alpha: np.ndarray
    l_before: np.ndarray
    l_after: np.ndarray
    new_sum: np.ndarray
    tile_max: np.ndarray


class StepTiming(msgspec.Struct, frozen=True, kw_only=True):
    """Milliseconds of one grid step, measured warm. ``bare_ms`` is the same step without probes."""

    step_ms: float
    bare_ms: float
    probes_ms: float
    """step_ms - bare_ms, the observer's own cost (both medians of ``count``)."""
    count: int


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Wall-clock of full runs in ms, after compilation and a warm-up, every output waited for."""

    compile_ms: float
    median_ms: float
    p95_ms: float
    count: int
    ran_on: str


class KernelChoice(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    refusal: str
    """'' where it can take the problem, else why not."""


class Check(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ok: bool
    detail: str
