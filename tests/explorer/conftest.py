"""Made-up answers of an engine, for tests of the window's side that need none."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

from explorer import cli
from explorer.link.messages import (
    Check,
    ChipInfo,
    Configure,
    Configured,
    Diagnose,
    Diagnosis,
    GoTo,
    Hello,
    KernelChoice,
    KernelList,
    ListKernels,
    MemoryInfo,
    Run,
    RunResult,
    Snapshot,
    SoftmaxState,
    StageEvidence,
    Timeline,
    Timing,
    Transfer,
)
from kernels import masks
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


def _configured(problem: AttentionProblem, blocks: BlockSizes) -> Configured:
    """What an engine answers for a kernel with the grid (batch, heads, q blocks, kv blocks)."""
    states = masks.tile_states(problem, blocks)
    order = np.array(list(np.ndindex(states.shape)), np.int32)
    steps = len(order)
    per_step = np.ones(steps)
    timeline = Timeline(
        inputs=("q",), outputs=("o",), load_bytes=np.ones((steps, 1), np.int64),
        store_bytes=np.ones((steps, 1), np.int64), computed=states.reshape(-1) != 0,
        row_block=np.repeat(np.arange(steps // states.shape[3], dtype=np.int32), states.shape[3]),
        load_us=per_step, compute_us=per_step, store_us=per_step, model="one microsecond each",
    )  # fmt: skip
    return Configured(
        id=1, problem=problem, blocks=blocks, kernel="flash", kernel_title="Flash", lens="flash", driven=True,
        grid=states.shape, grid_names=("batch", "head", "q block", "kv block"), steps=steps, order=order,
        tile_states=states, operands=(), timeline=timeline, compile_ms=1.0, ran_on="a test",
        memory=MemoryInfo(
            vmem_peak=1 << 20, vmem_limit=16 << 20, vmem_physical=128 << 20, hbm_moved=4096, hbm_moved_logical=2048,
            hbm_moved_naive=8192, naive_matrix_bytes=1024, buffers=(),
        ),
        chip=ChipInfo(
            name="v5e", vmem_bytes=128 << 20, scoped_limit_bytes=16 << 20, scoped_limit_source="a test",
            smem_bytes=1 << 20, hbm_bytes=16 << 30, hbm_bytes_per_second=819e9, bf16_flops_per_second=197e12,
            mxu_count=4, mxu_size=128, source="a test",
        ),
    )  # fmt: skip


@pytest.fixture(scope="session")
def make_configured() -> Callable[..., Configured]:
    """make_configured(problem, blocks) -> Configured, without an engine."""
    return _configured


STAGES = ("Partition", "Load", "Score and normalise", "Accumulate", "Schedule")


class MadeUpEngine:
    """Answers like ``EngineClient``. ``failure`` is raised by Configure; ``ok`` and ``holds`` are the verdicts."""

    def __init__(self, make_configured: Callable[..., Configured]) -> None:
        self.make_configured = make_configured
        self.hello = Hello(protocol=1, jax_version="9.9", platform="cpu", device="cpu", pid=1)
        self.requests: list[Any] = []
        self.failure: BaseException | None = None
        self.ok, self.holds = True, True
        self.closed = False
        self.command: Sequence[str] | None = None

    def __call__(self, command: Sequence[str] | None) -> MadeUpEngine:
        self.command = command
        return self

    def start(self) -> None:
        self.closed = False

    def close(self) -> None:
        self.closed = True

    def next_id(self) -> int:
        return len(self.requests) + 1

    def call(self, request: Any, timeout: float | None = None, on_progress: Any = None) -> Any:
        self.requests.append(request)
        return {
            Configure: self.configure, Run: self.run, GoTo: self.goto, ListKernels: self.kernels,
            Diagnose: self.diagnose,
        }[type(request)](request)  # fmt: skip

    def configure(self, request: Configure) -> Configured:
        if self.failure is not None:
            raise self.failure
        self.configured = self.make_configured(request.problem, request.blocks)
        return self.configured

    def run(self, request: Run) -> RunResult:
        p = self.configured.problem
        timing = Timing(compile_ms=12.0, median_ms=3.0, p95_ms=4.0, count=10, ran_on="a test")
        return RunResult(
            id=request.id, o=np.full((p.batch, p.heads, p.q_len, p.head_dim), 2.0, np.float32),
            lse=np.zeros((p.batch, p.heads, p.q_len), np.float32), error_float64=3e-7 if self.ok else np.inf,
            error_naive=None, error_lse=1e-6, tolerance=1e-5, ok=self.ok, timing=timing, naive_timing=None,
        )  # fmt: skip

    def goto(self, request: GoTo) -> Snapshot:
        rows = np.array([1.5, -np.inf], np.float32)
        softmax = SoftmaxState(
            m_before=rows, m_after=rows, alpha=rows, l_before=rows, l_after=rows, new_sum=rows, tile_max=rows
        )
        stages = tuple(
            StageEvidence(
                number=number, name=name, consumed="a", changed="b", cost="c", evidence="d", source="execution",
                holds=self.holds if number == 3 else None,
            )
            for number, name in enumerate(STAGES, 1)
        )  # fmt: skip
        transfer = Transfer(
            operand="k", role="k", block=(0, 0, 1, 0), direction="in", slot=1, bytes=8192, logical_bytes=2048
        )
        none = np.zeros(0)
        return Snapshot(
            id=request.id, step=request.step, steps=self.configured.steps, coords=(0, 0, 1, 1), batch=0, head=0,
            kv_head=0, q_block=1, kv_block=1, q_range=(16, 32), kv_range=(16, 32), computed=True, tiles_done=1,
            tiles_total=2, tiles_skipped=0, scores=None, probabilities=None, allowed=None, softmax=softmax,
            acc_before=None, acc_after=None, output=none, output_done=none, error_float64=none, error_naive=none,
            transfers=(transfer,), buffers=(), stages=stages, values=(), timing=None, vmem_live=4096, hbm_moved=8192,
            rss_bytes=1, device_bytes=None,
        )  # fmt: skip

    def kernels(self, request: ListKernels) -> KernelList:
        choices = [("flash", "too old"), ("xla", ""), ("naive", "")]
        kernels = tuple(KernelChoice(name=name, title=name, refusal=refusal) for name, refusal in choices)
        return KernelList(id=request.id, kernels=kernels, chips=("v5e",))

    def diagnose(self, request: Diagnose) -> Diagnosis:
        return Diagnosis(id=request.id, checks=(Check(name="devices", ok=self.ok, detail="1 × cpu"),))


@pytest.fixture
def engine(make_configured: Callable[..., Configured]) -> Iterator[MadeUpEngine]:
    """An engine for the command line that computes nothing; closed at the end of every command, or the test fails."""
    made_up = MadeUpEngine(make_configured)
    yield made_up
    assert made_up.closed or not made_up.requests


@pytest.fixture
def tilescope(engine: MadeUpEngine) -> Callable[..., int]:
    """tilescope("run", "--json") runs a command line with ``engine`` and returns its exit code."""
    return lambda *argv: cli.main(argv, engine)


@pytest.fixture
def one_line(capsys: pytest.CaptureFixture[str]) -> Callable[[], str]:
    """What was said on stderr, which must be one line, with nothing on stdout."""

    def said() -> str:
        captured = capsys.readouterr()
        assert captured.out == ""
        assert captured.err.count("\n") == 1
        assert captured.err.startswith("tilescope: ")
        assert "Traceback" not in captured.err
        return captured.err

    return said
