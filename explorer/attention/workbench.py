"""The engine's desk: answers the window's requests about one configured kernel."""

from __future__ import annotations

from explorer.attention import generic, judge, matrix, snapshot
from explorer.attention.choices import kernel_list
from explorer.attention.configure import configured_reply, put_on_bench
from explorer.attention.doctor import diagnose
from explorer.attention.driving import record_at, step_timing
from explorer.attention.errors import WorkbenchError
from explorer.attention.moment import Moment
from explorer.attention.subject import Driven, Operands, Subject
from explorer.engine.progress import Progress
from explorer.link.messages import (
    Configure,
    Configured,
    Diagnose,
    Diagnosis,
    GetMatrix,
    GetStrips,
    GoTo,
    KernelList,
    ListKernels,
    Matrix,
    Measure,
    Measured,
    MemoryInfo,
    Run,
    RunResult,
    Snapshot,
    Strips,
)


class Workbench:
    """Holds one subject at a time. Each method answers one request, or raises WorkbenchError for a person to read.

    ``progress`` is called with (text, done, total) and may raise to cancel.
    """

    def __init__(self) -> None:
        self._subject: Subject | None = None
        self._inputs: Operands | None = None
        self._memory: MemoryInfo | None = None

    def configure(self, request: Configure, progress: Progress) -> Configured:
        """Capture and compile. The subject before stays on the bench where this fails."""
        inputs = self._take_inputs(request)
        subject = put_on_bench(request, inputs, progress)
        reply = configured_reply(request.id, subject)
        self._subject, self._inputs, self._memory = subject, inputs, reply.memory
        return reply

    def goto(self, request: GoTo, progress: Progress) -> Snapshot:
        """Drive to a grid step and show it."""
        subject, driven = self._driven()
        record = record_at(driven, request.step, progress)
        moment = Moment(subject, driven, record)
        make = snapshot.snapshot if driven.lens.values else generic.generic_snapshot
        assert self._memory is not None, "a driven subject was configured, and so its memory figures are known"
        return make(moment, request.id, self._memory, step_timing(driven, request.step))

    def matrix(self, request: GetMatrix, progress: Progress) -> Matrix:
        """The attention matrix of one head."""
        subject = self._checked_head(request.batch, request.head)
        try:
            return matrix.matrix(subject, request, progress)
        except matrix.MatrixUnavailableError as error:
            raise WorkbenchError("memory", str(error)) from error

    def strips(self, request: GetStrips, progress: Progress) -> Strips:
        """Q, K and V of one head."""
        subject = self._checked_head(request.batch, request.head)
        problem = subject.problem
        kv_head = request.head // (problem.heads // problem.kv_head_count)
        q, k, v = subject.operands
        return Strips(
            id=request.id, batch=request.batch, head=request.head, q=q[request.batch, request.head],
            k=k[request.batch, kv_head], v=v[request.batch, kv_head],
        )  # fmt: skip

    def measure(self, request: Measure, progress: Progress) -> Measured:
        """Time full runs."""
        return judge.measure(self._configured(), request, progress)

    def run(self, request: Run, progress: Progress) -> RunResult:
        """Run whole and judge."""
        return judge.run(self._configured(), request, progress)

    def kernels(self, request: ListKernels, progress: Progress) -> KernelList:
        """Which kernels can take a problem."""
        return kernel_list(request)

    def diagnose(self, request: Diagnose, progress: Progress) -> Diagnosis:
        """The engine's own checks."""
        return diagnose(request)

    def _take_inputs(self, request: Configure) -> Operands:
        given = (request.q, request.k, request.v)
        if request.q is not None and request.k is not None and request.v is not None:
            return request.q, request.k, request.v
        if any(array is not None for array in given) or self._inputs is None:
            raise WorkbenchError("input", "q, k and v must be given together")
        return self._inputs

    def _configured(self) -> Subject:
        if self._subject is None:
            raise WorkbenchError("input", "no kernel is configured yet")
        return self._subject

    def _driven(self) -> tuple[Subject, Driven]:
        subject = self._configured()
        if subject.driven is None:
            raise WorkbenchError(
                "kernel", f"{subject.kernel.title} is no Pallas kernel: it has no grid to step through"
            )
        return subject, subject.driven

    def _checked_head(self, batch: int, head: int) -> Subject:
        subject = self._configured()
        problem = subject.problem
        if not (0 <= batch < problem.batch and 0 <= head < problem.heads):
            raise WorkbenchError(
                "input", f"there is no batch {batch}, head {head}: {problem.batch} × {problem.heads} are configured"
            )
        return subject
