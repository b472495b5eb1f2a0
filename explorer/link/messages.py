"""What the window and the engine say to each other: typed, versioned, NumPy only.

A request carries an ``id`` and a ``tag``: while it waits in the engine's queue, a newer request with the same tag
replaces it. Every request is answered by exactly one of its reply type, ``Failed`` or ``Dropped``; ``Progress`` may
come before. Arrays travel as dtype, shape and raw bytes (see ``codec``), never pickled, and arrive read-only.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

PROTOCOL_VERSION = 1

Role = Literal["q", "k", "v", "scores", "softmax", "acc", "output", "other"]
"""Colour role of a thing on screen: scores covers S and P, softmax covers m and l, acc and output share a colour."""
Source = Literal["execution", "compiler", "model"]
"""Where a number comes from: the kernel's own run, the compiler, or a named model."""
MatrixKind = Literal["naive-scores", "naive-probabilities", "flash-probabilities", "difference"]


class Message(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Base of everything that crosses the link."""


class Request(Message, frozen=True, kw_only=True):
    id: int
    tag: str = ""


class Reply(Message, frozen=True, kw_only=True):
    """``id`` is that of the request it answers."""

    id: int


# ---------------------------------------------------------------- requests


class Configure(Request, frozen=True, kw_only=True):
    """Take a problem, its inputs and a kernel; capture and compile. Answered by ``Configured``.

    q: float32 (batch, heads, q_len, head_dim); k, v: float32 (batch, kv_heads, kv_len, head_dim). ``None`` for all
    three keeps the inputs of the last ``Configure``. The engine rounds them to ``problem.dtype``.
    """

    problem: AttentionProblem
    blocks: BlockSizes
    kernel: str
    chip: str
    q: np.ndarray | None = None
    k: np.ndarray | None = None
    v: np.ndarray | None = None
    tag: str = "configure"


class GoTo(Request, frozen=True, kw_only=True):
    """Bring the driver to just after grid step ``step`` (0-based). Answered by ``Snapshot``."""

    step: int
    tag: str = "goto"


class GetMatrix(Request, frozen=True, kw_only=True):
    """The attention matrix of one head. ``step`` bounds the flash kinds: tiles of steps after it are left out."""

    kind: MatrixKind
    batch: int
    head: int
    step: int
    tag: str = "matrix"


class GetStrips(Request, frozen=True, kw_only=True):
    """Q, K and V of one head, as the kernel reads them. Answered by ``Strips``."""

    batch: int
    head: int
    tag: str = "strips"


class Measure(Request, frozen=True, kw_only=True):
    """Time full runs of the configured kernel and of naive, warmed, every output waited for."""

    repeats: int = 20
    tag: str = "measure"


class Run(Request, frozen=True, kw_only=True):
    """Run the configured kernel whole, not driven; judge it against float64 and naive. Answered by ``RunResult``."""

    tag: str = "run"


class ListKernels(Request, frozen=True, kw_only=True):
    """Which kernels there are, and which can take this problem. Answered by ``KernelList``."""

    problem: AttentionProblem
    blocks: BlockSizes
    tag: str = "kernels"


class Diagnose(Request, frozen=True, kw_only=True):
    """What ``tilescope doctor`` wants to know of the engine's side. Answered by ``Diagnosis``."""

    tag: str = "doctor"


class Cancel(Request, frozen=True, kw_only=True):
    """Stop request ``target`` at its next progress point (or drop it from the queue). Not answered itself."""

    target: int


# ---------------------------------------------------------------- replies


class Hello(Message, frozen=True, kw_only=True):
    """First message of an engine."""

    protocol: int
    jax_version: str
    platform: str
    """jax.default_backend(): cpu, tpu, gpu."""
    device: str
    pid: int


class Progress(Reply, frozen=True, kw_only=True):
    text: str
    done: int
    total: int


class Failed(Reply, frozen=True, kw_only=True):
    """``message``: one line for a person: what is wrong and what to do. ``details``: for the log only."""

    message: str
    details: str = ""
    kind: Literal["input", "kernel", "internal", "cancelled", "memory"] = "internal"


class Dropped(Reply, frozen=True, kw_only=True):
    """A newer request with the same tag took this one's place."""


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


class Configured(Reply, frozen=True, kw_only=True):
    """A kernel is captured, compiled and ready to be driven."""

    problem: AttentionProblem
    """As computed: block sizes clamped, scale filled in."""
    blocks: BlockSizes
    kernel: str
    kernel_title: str
    lens: str
    """What the explorer can name in this kernel: '' where it knows no stage names (values by source line only)."""
    driven: bool
    """False for kernels that are no Pallas kernel (naive, xla): nothing to step through, only Run and Measure."""
    reason_not_driven: str = ""
    grid: tuple[int, ...]
    grid_names: tuple[str, ...]
    steps: int
    order: np.ndarray
    """int32 (steps, 4): batch, head, q block, kv block of each grid step; -1 where not known."""
    tile_states: np.ndarray
    """int8 (batch, heads, q blocks, kv blocks): 0 skipped, 1 partly masked, 2 full."""
    operands: tuple[OperandInfo, ...]
    timeline: Timeline
    memory: MemoryInfo
    chip: ChipInfo
    compile_ms: float
    ran_on: str
    """Honest label of where steps run, for example 'Pallas interpreter on CPU: not TPU speed'."""
    notes: tuple[str, ...] = ()
    """What a user would otherwise be misled about (interpreter hides ..., scale default ...)."""


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


class Snapshot(Reply, frozen=True, kw_only=True):
    """Everything the Step page shows of one grid step, after it ran.

    Arrays are cropped to what is real (no padding rows or keys). Fields that the lens cannot name are None.
    """

    step: int
    steps: int
    coords: tuple[int, ...]
    batch: int
    head: int
    kv_head: int
    q_block: int
    kv_block: int
    q_range: tuple[int, int]
    kv_range: tuple[int, int]
    computed: bool
    tiles_done: int
    """Computed tiles of this head up to and with this step."""
    tiles_total: int
    tiles_skipped: int
    scores: np.ndarray | None
    """float32 (q rows, kv rows), before masking is -inf where masked, as the kernel has it."""
    probabilities: np.ndarray | None
    """float32 like scores: exp(S - m_after)."""
    allowed: np.ndarray | None
    """bool like scores."""
    softmax: SoftmaxState | None
    acc_before: np.ndarray | None
    acc_after: np.ndarray | None
    """float32 (q rows, head_dim)."""
    output: np.ndarray
    """float32 (q_len, head_dim) of this head: rows of finished row blocks as written, the current row block as
    acc / l, NaN where nothing has been computed yet."""
    output_done: np.ndarray
    """int8 (q_len,): 0 to come, 1 in progress, 2 written."""
    error_float64: np.ndarray
    """float64 (q_len,) max |output - float64 over the keys seen so far|, NaN where to come."""
    error_naive: np.ndarray
    """float64 (q_len,) max |output - naive|, only for written rows, else NaN."""
    transfers: tuple[Transfer, ...]
    buffers: tuple[BufferState, ...]
    stages: tuple[StageEvidence, ...]
    values: tuple[ProbedValue, ...]
    timing: StepTiming | None
    vmem_live: int
    hbm_moved: int
    """Bytes moved up to and with this step, padded."""
    rss_bytes: int
    device_bytes: int | None
    """None where the backend does not report it."""


class Matrix(Reply, frozen=True, kw_only=True):
    """values: float32 (rows, columns), NaN where nothing is known yet, -inf in scores where masked.

    For lengths above 2,048 each cell is the maximum of ``pool`` x ``pool`` pairs.
    """

    kind: MatrixKind
    batch: int
    head: int
    values: np.ndarray
    allowed: np.ndarray
    """bool like values; False is masked."""
    pool: int
    low: float
    high: float
    """Fixed levels: the same for every step of one configuration."""
    scale: Literal["linear", "log", "diverging"]
    title: str
    source: Source
    step: int = -1
    """Of the flash kinds: the last grid step whose tile is in it, so that a picture older than the snapshot beside it
    is not read as NaN. -1: not said; the naive kinds know every tile."""


class Strips(Reply, frozen=True, kw_only=True):
    """float32 q (q_len, head_dim), k and v (kv_len, head_dim) of one head, rounded to the problem's dtype."""

    batch: int
    head: int
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray


class Timing(msgspec.Struct, frozen=True, kw_only=True):
    """Wall-clock of full runs in ms, after compilation and a warm-up, every output waited for."""

    compile_ms: float
    median_ms: float
    p95_ms: float
    count: int
    ran_on: str


class Measured(Reply, frozen=True, kw_only=True):
    kernel: Timing
    naive: Timing | None
    naive_refusal: str = ""


class RunResult(Reply, frozen=True, kw_only=True):
    """Errors are max absolute. ``lse`` and ``error_lse`` are None where the kernel gives no LSE."""

    o: np.ndarray
    """float32 (batch, heads, q_len, head_dim)."""
    lse: np.ndarray | None
    error_float64: float
    error_naive: float | None
    error_lse: float | None
    tolerance: float
    ok: bool
    timing: Timing
    naive_timing: Timing | None


class KernelChoice(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    title: str
    refusal: str
    """'' where it can take the problem, else why not."""


class KernelList(Reply, frozen=True, kw_only=True):
    kernels: tuple[KernelChoice, ...]
    chips: tuple[str, ...]


class Check(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    ok: bool
    detail: str


class Diagnosis(Reply, frozen=True, kw_only=True):
    checks: tuple[Check, ...]


AnyRequest = Configure | GoTo | GetMatrix | GetStrips | Measure | Run | ListKernels | Diagnose | Cancel
AnyReply = (
    Hello | Progress | Failed | Dropped | Configured | Snapshot | Matrix | Strips | Measured | RunResult
    | KernelList | Diagnosis
)
