"""Whole runs of a kernel: is the result right, against float64 and naive, and how long does it take."""

from __future__ import annotations

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from explorer.attention.output import row_errors
from explorer.attention.subject import Subject
from explorer.engine import timing as engine_timing
from explorer.engine.progress import Progress
from explorer.link.messages import Measure, Measured, Run, RunResult, Timing
from kernels import catalog, reference

ROWS_AT_ONCE = 512
"""Query rows of float64 reference computed together, so that memory does not grow with q_len x kv_len."""
DEFAULT_REPEATS = 10


class Errors(NamedTuple):
    """Largest absolute errors; None where there is nothing to compare."""

    float64: float
    naive: float | None
    lse: float | None


def run(subject: Subject, request: Run, progress: Progress) -> RunResult:
    """Run the kernel whole, judge it, and time it beside naive."""
    # timed first: compiling the same function again would find it compiled, and the time would say so
    times = measure(subject, Measure(id=request.id, repeats=DEFAULT_REPEATS), progress)
    o, lse = _outputs(subject)
    errors = _errors(subject, o, lse, progress)
    tolerance = subject.references.tolerances
    right = errors.float64 <= tolerance.output and (errors.lse is None or errors.lse <= tolerance.score)
    return RunResult(
        id=request.id, o=o, lse=lse, error_float64=errors.float64, error_naive=errors.naive, error_lse=errors.lse,
        tolerance=tolerance.output, ok=bool(right), timing=times.kernel, naive_timing=times.naive,
    )  # fmt: skip


def measure(subject: Subject, request: Measure, progress: Progress) -> Measured:
    """Time full runs of the kernel and of naive, both compiled and warm, every output waited for."""
    interpreted = subject.kernel.is_pallas and jax.default_backend() != "tpu"
    kernel = _timing(subject, subject.function, request.repeats, "timing the kernel", progress, interpreted)
    refusal = _naive_run_refusal(subject)
    naive = None
    if not refusal:
        function = reference.naive(subject.problem)
        naive = _timing(subject, function, request.repeats, "timing naive", progress, False)
    return Measured(id=request.id, kernel=kernel, naive=naive, naive_refusal=refusal)


def _naive_run_refusal(subject: Subject) -> str:
    """Naive over all heads at once holds every head's S and P; refuse above the budget of one head's picture."""
    refusal: str = catalog.get("naive").refusal(subject.problem, subject.blocks, jax.default_backend())
    return refusal or subject.references.whole_naive_refusal()


def _timing(subject: Subject, function, repeats: int, text: str, progress: Progress, interpreted: bool) -> Timing:
    measured = engine_timing.measure(
        function, subject.arguments, repeats, progress=progress, text=text, interpreted=interpreted
    )
    return Timing(
        compile_ms=measured.compile_s * 1e3, median_ms=measured.median_s * 1e3, p95_ms=measured.p95_s * 1e3,
        count=measured.count, ran_on=measured.ran_on,
    )  # fmt: skip


def _outputs(subject: Subject) -> tuple[np.ndarray, np.ndarray | None]:
    result = jax.block_until_ready(jax.jit(subject.function)(*subject.arguments))
    o = np.asarray(result.o.astype(jnp.float32))
    return o, None if result.lse is None else np.asarray(result.lse, np.float32)


def _errors(subject: Subject, o: np.ndarray, lse: np.ndarray | None, progress: Progress) -> Errors:
    """Head by head and row block by row block, so that the float64 reference stays small."""
    problem = subject.problem
    float64, lse_error = 0.0, 0.0
    naive: float | None = None if subject.references.naive_refusal() else 0.0
    total = problem.batch * problem.heads
    for count, (batch, head) in enumerate(np.ndindex(problem.batch, problem.heads)):
        progress("judging against float64", count, total)
        for start in range(0, problem.q_len, ROWS_AT_ONCE):
            rows = slice(start, min(start + ROWS_AT_ONCE, problem.q_len))
            expected, expected_lse = subject.references.finished_rows(batch, head, rows)
            got = o[batch, head, rows]
            float64 = max(float64, _largest(got, expected))
            if lse is not None:
                lse_error = max(lse_error, _largest(lse[batch, head, rows, None], expected_lse[:, None]))
            if naive is not None:
                naive_head = subject.references.naive(batch, head)
                assert naive_head is not None
                naive = max(naive, _largest(got, naive_head.o[rows]))
    return Errors(float64, naive, None if lse is None else lse_error)


def _largest(got: np.ndarray, expected: np.ndarray) -> float:
    """Largest error; equal infinities and NaN where NaN is expected are right, any other non-finite value is not."""
    same = (got == expected) | (np.isnan(got) & np.isnan(expected))
    errors = row_errors(np.where(same, 0.0, got), np.where(same, 0.0, expected))
    return float(np.where(np.isnan(errors), np.inf, errors).max())
