"""The words of the readouts: each says what was measured or modelled, and '—' until it is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from explorer.link.messages import Configured, Snapshot
from explorer.session.state import StepState
from explorer.units import byte_text, error_text, ms_text

UNKNOWN = "—"


@dataclass(frozen=True)
class Readout:
    """'``name`` **value** rest'. ``tip``: what it is, and whether execution or a model says so. ``wrong``: an alarm."""

    name: str
    value: str
    rest: str = ""
    tip: str = ""
    wrong: bool = False

    @property
    def text(self) -> str:
        return " ".join(part for part in (self.name, self.value, self.rest) if part)


def readouts(state: StepState) -> list[Readout]:
    """All readouts of the foot line, always the same ones in the same order."""
    configured = state.configured
    return [
        _step_time(state),
        *_run_times(state),
        _vmem(configured, state.snapshot),
        _hbm(configured, state.snapshot),
        _errors(state.snapshot),
    ]


def where_it_ran(state: StepState) -> tuple[str, bool]:
    """The label of where steps run ('' until known), and whether its times could be taken for a TPU's."""
    ran_on = state.configured.ran_on if state.configured is not None else ""
    return ran_on, not ran_on.startswith("compiled on")


def engine_text(state: StepState) -> str:
    """'engine: JAX 0.10.2 · cpu · 412 MiB'; memory is the process's resident set, and the device's where it tells."""
    parts = [state.engine or UNKNOWN]
    snapshot = state.snapshot
    if snapshot is not None and snapshot.rss_bytes:
        parts.append(byte_text(snapshot.rss_bytes))
    if snapshot is not None and snapshot.device_bytes is not None:
        parts.append(f"device {byte_text(snapshot.device_bytes)}")
    return "engine: " + " · ".join(parts)


def _step_time(state: StepState) -> Readout:
    timing = state.snapshot.timing if state.snapshot is not None else None
    tip = (
        "One driven grid step with its probes, measured warm; how much of that the probes cost. "
        f"Measured where it ran: {where_it_ran(state)[0] or UNKNOWN}."
    )
    if timing is None:
        return Readout("this step", UNKNOWN, tip=tip)
    sign = "+" if timing.probes_ms >= 0 else "−"
    rest = f"(probes {sign}{ms_text(abs(timing.probes_ms))})"
    return Readout("this step", ms_text(timing.step_ms), rest, f"{tip} Medians of {timing.count} runs.")


def _run_times(state: StepState) -> list[Readout]:
    measured = state.measured
    tip = "A full run of the plain kernel: compiled and warmed before, every output waited for. Measured: {}."
    naive_tip = "A full run of naive attention, which writes S and P to memory. Measured: {}."
    if measured is None:
        return [Readout("full run", UNKNOWN, tip=tip.format(UNKNOWN)),
                Readout("naive", UNKNOWN, tip=naive_tip.format(UNKNOWN))]  # fmt: skip
    kernel, naive = measured.kernel, measured.naive
    rest = f"median, p95 {ms_text(kernel.p95_ms)} ({kernel.count} runs)"
    run = Readout("full run", ms_text(kernel.median_ms), rest, tip.format(kernel.ran_on))
    if naive is None:
        return [run, Readout("naive", UNKNOWN, "not run" if measured.naive_refusal else "", measured.naive_refusal)]
    spread = f"Median of {naive.count} runs, p95 {ms_text(naive.p95_ms)}."
    return [run, Readout("naive", ms_text(naive.median_ms), "median", f"{naive_tip.format(naive.ran_on)} {spread}")]


def _vmem(configured: Configured | None, snapshot: Snapshot | None) -> Readout:
    tip = (
        "A model, and a lower bound: blocks in their buffer slots and scratch, in (8, 128) tiles, "
        "against the scoped limit. The compiler adds its own."
    )
    if configured is None:
        return Readout("VMEM", UNKNOWN, tip=tip)
    memory, chip = configured.memory, configured.chip
    live = byte_text(snapshot.vmem_live) if snapshot is not None else UNKNOWN
    rest = f"live, {byte_text(memory.vmem_peak)} peak of {byte_text(memory.vmem_limit)} ({chip.name}, model)"
    limit = f"Limit: {chip.scoped_limit_source}. {chip.name} has {byte_text(memory.vmem_physical)} in all."
    return Readout("VMEM", live, rest, f"{tip} {limit}", wrong=memory.vmem_peak > memory.vmem_limit)


def _hbm(configured: Configured | None, snapshot: Snapshot | None) -> Readout:
    tip = "Transfers between HBM and VMEM up to this step and in the whole run, from the index maps, laid out in tiles."
    if configured is None:
        return Readout("HBM moved", UNKNOWN, tip=tip)
    memory = configured.memory
    moved = byte_text(snapshot.hbm_moved) if snapshot is not None else UNKNOWN
    rest = f"of {byte_text(memory.hbm_moved)} (naive {byte_text(memory.hbm_moved_naive)})"
    naive = (
        f"{byte_text(memory.hbm_moved_logical)} of it is data, the rest is padding. "
        "Naive by a model: Q, K, V read, S and P written and read once, O written, without padding."
    )
    return Readout("HBM moved", moved, rest, f"{tip} {naive}")


def _errors(snapshot: Snapshot | None) -> Readout:
    tip = (
        "Largest difference of the rows of this head computed so far: from float64 over the keys seen so far, "
        "and of finished rows from naive attention. Execution."
    )
    if snapshot is None:
        return Readout("max error", UNKNOWN, tip=tip)
    float64, naive = _largest(snapshot.error_float64), _largest(snapshot.error_naive)
    rest = f"vs float64, {UNKNOWN if naive is None else error_text(naive)} vs naive"
    wrong = any(worst is not None and not np.isfinite(worst) for worst in (float64, naive))
    return Readout("max error", UNKNOWN if float64 is None else error_text(float64), rest, tip, wrong)


def _largest(errors: np.ndarray) -> float | None:
    """Of the rows that are known; NaN stands for a row to come, and inf for one that should be finite and is not."""
    known = errors[~np.isnan(errors)]
    return float(known.max()) if known.size else None
