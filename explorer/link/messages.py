"""What the window and the engine say to each other: typed, versioned, NumPy only.

A request carries an ``id`` and a ``tag``: while it waits in the engine's queue, a newer request with the same tag
replaces it. Every request is answered by exactly one of its reply type, ``Failed`` or ``Dropped``; ``Progress`` may
come before. Arrays travel as dtype, shape and raw bytes (see ``codec``), never pickled, and arrive read-only.
"""

from __future__ import annotations

from typing import Literal

import msgspec
import numpy as np

from explorer.link.parts import (
    BufferInfo as BufferInfo,
    BufferState as BufferState,
    Check as Check,
    ChipInfo as ChipInfo,
    KernelChoice as KernelChoice,
    MemoryInfo as MemoryInfo,
    OperandInfo as OperandInfo,
    ProbedValue as ProbedValue,
    Role as Role,
    SoftmaxState as SoftmaxState,
    Source as Source,
    StageEvidence as StageEvidence,
    StepTiming as StepTiming,
    Timeline as Timeline,
    Timing as Timing,
    Transfer as Transfer,
)
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

PROTOCOL_VERSION = 1

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


class KernelList(Reply, frozen=True, kw_only=True):
    kernels: tuple[KernelChoice, ...]
    chips: tuple[str, ...]


class Diagnosis(Reply, frozen=True, kw_only=True):
    checks: tuple[Check, ...]


AnyRequest = Configure | GoTo | GetMatrix | GetStrips | Measure | Run | ListKernels | Diagnose | Cancel
AnyReply = (
    Hello
    | Progress
    | Failed
    | Dropped
    | Configured
    | Snapshot
    | Matrix
    | Strips
    | Measured
    | RunResult
    | KernelList
    | Diagnosis
)
