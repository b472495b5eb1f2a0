"""Bringing the driver to a step, and what a step costs."""

from __future__ import annotations

from explorer.attention.errors import WorkbenchError
from explorer.attention.subject import Driven
from explorer.engine import timing as engine_timing
from explorer.engine.driver import StepRecord
from explorer.engine.progress import Progress
from explorer.link.messages import StepTiming

REPEATS = 5
STEPS_FILLED = 2048
"""Grid steps before the row block on screen that are run so that the output so far is whole."""


def record_at(driven: Driven, step: int, progress: Progress) -> StepRecord:
    """Run (or re-run) one grid step. Raises WorkbenchError for a step outside the run."""
    if not 0 <= step < driven.steps:
        raise WorkbenchError("input", f"step {step} is outside this run, which has steps 0 to {driven.steps - 1}")
    first = int(driven.head_steps(*driven.order[step, :2])[0])
    begin, _ = driven.driver.row_block_of(step)
    if begin - first <= STEPS_FILLED:
        driven.driver.ensure_outputs(first, begin, progress)
    return driven.driver.step(step, progress)


def step_timing(driven: Driven, step: int) -> StepTiming:
    """Milliseconds of a step like this one (computed or skipped), probed and bare; measured once for each kind."""
    computed = bool(driven.computed[step])
    if computed not in driven.step_timings:
        cost = engine_timing.step_cost(driven.driver, step, REPEATS)
        driven.step_timings[computed] = StepTiming(
            step_ms=cost.probed_s * 1e3, bare_ms=cost.bare_s * 1e3,
            probes_ms=(cost.probed_s - cost.bare_s) * 1e3, count=REPEATS,
        )  # fmt: skip
    return driven.step_timings[computed]
