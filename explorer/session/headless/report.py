"""What ``run`` and ``step`` say: as data for --json, and as lines for people."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np

from explorer.link.messages import Configured, RunResult, Snapshot, SoftmaxState, Timing, Transfer
from explorer.session.config import Configuration
from explorer.session.headless.options import option_text
from explorer.session.prepared import Prepared
from explorer.session.versions import versions
from explorer.units import byte_text, count_text, error_text, ms_text, number_text, plural
from kernels.problem import AttentionProblem

_MARKS = {True: "holds", False: "DOES NOT HOLD", None: "not checked"}


def run_data(prepared: Prepared, configured: Configured, result: RunResult, jax_version: str) -> dict[str, Any]:
    """Keys of ``run --json``. Bytes and milliseconds; None where a thing does not exist for this kernel."""
    memory = configured.memory
    return {
        "kernel": configured.kernel,
        "ran_on": result.timing.ran_on,
        "ok": result.ok,
        "error": {
            "float64": {"max": result.error_float64},
            "naive": {"max": result.error_naive},
            "lse": {"max": result.error_lse},
            "tolerance": result.tolerance,
        },
        "timing_ms": _timing(result.timing),
        "naive_timing_ms": None if result.naive_timing is None else _timing(result.naive_timing),
        "memory": {
            "vmem_peak": memory.vmem_peak if configured.driven else None,
            "vmem_limit": memory.vmem_limit,
            "vmem_physical": memory.vmem_physical,
            "hbm_moved": memory.hbm_moved if configured.driven else None,
            "hbm_moved_logical": memory.hbm_moved_logical if configured.driven else None,
            "hbm_moved_naive": memory.hbm_moved_naive,
        },
        **_circumstances(prepared, configured, jax_version),
    }


def step_data(prepared: Prepared, configured: Configured, snapshot: Snapshot, jax_version: str) -> dict[str, Any]:
    """Keys of ``step --json``. m, l and alpha have one number for each real row of the Q block, after the step."""
    softmax = snapshot.softmax
    return {
        "kernel": configured.kernel,
        "ran_on": configured.ran_on,
        "step": snapshot.step,
        "steps": snapshot.steps,
        "coords": snapshot.coords,
        "computed": snapshot.computed,
        "batch": snapshot.batch,
        "head": snapshot.head,
        "q_block": snapshot.q_block,
        "kv_block": snapshot.kv_block,
        "q_range": snapshot.q_range,
        "kv_range": snapshot.kv_range,
        "transfers": [_transfer(transfer) for transfer in snapshot.transfers],
        "m": None if softmax is None else softmax.m_after,
        "l": None if softmax is None else softmax.l_after,
        "alpha": None if softmax is None else softmax.alpha,
        "stages": [msgspec.structs.asdict(stage) for stage in snapshot.stages],
        "memory": {"vmem_live": snapshot.vmem_live, "hbm_moved": snapshot.hbm_moved, "rss": snapshot.rss_bytes},
        **_circumstances(prepared, configured, jax_version),
    }


def run_text(prepared: Prepared, configured: Configured, result: RunResult) -> str:
    """``run`` for people."""
    timing = result.timing
    naive_error = "" if result.error_naive is None else f", {error_text(result.error_naive)} against naive"
    lse_error = "" if result.error_lse is None else f", {error_text(result.error_lse)} in LSE"
    rows = [
        ("problem", problem_text(configured.problem, prepared.configuration)),
        ("kernel", kernel_text(configured)),
        ("ran on", timing.ran_on),
        (
            "error",
            f"{error_text(result.error_float64)} against float64 (allowed {error_text(result.tolerance)})"
            f"{naive_error}{lse_error}",
        ),
        ("time", _timing_text(timing)),
        ("naive", "not timed" if result.naive_timing is None else _timing_text(result.naive_timing)),
        *_memory_rows(configured),
        *(("note", note) for note in (*prepared.notes, *configured.notes)),
        ("result", "right" if result.ok else "WRONG: the error is larger than allowed"),
    ]
    return _table(rows)


def step_text(prepared: Prepared, configured: Configured, snapshot: Snapshot) -> str:
    """``step`` for people."""
    place = ", ".join(f"{name} {at}" for name, at in zip(configured.grid_names, snapshot.coords, strict=False))
    rows = [
        ("problem", problem_text(configured.problem, prepared.configuration)),
        ("kernel", kernel_text(configured)),
        ("step", f"{count_text(snapshot.step)} of 0 to {count_text(snapshot.steps - 1)}: {place}"),
        ("tile", _tile_text(snapshot)),
        *(("transfer", _transfer_text(transfer)) for transfer in snapshot.transfers),
        *_softmax_rows(snapshot.softmax),
        *((f"stage {s.number}", f"{s.name}: {s.evidence}: {_MARKS[s.holds]} ({s.source})") for s in snapshot.stages),
        ("VMEM", f"{byte_text(snapshot.vmem_live)} live of {byte_text(configured.memory.vmem_limit)}"),
        ("HBM", f"{byte_text(snapshot.hbm_moved)} of {byte_text(configured.memory.hbm_moved)} moved so far"),
        ("ran on", configured.ran_on),
        *(("note", note) for note in (*prepared.notes, *configured.notes)),
    ]
    return _table(rows)


def problem_text(problem: AttentionProblem, configuration: Configuration) -> str:
    """'sentence-en: 4 heads, 96 queries by 96 keys, head dim 32, float32, causal, scale 0.177'."""
    grouped = "" if problem.kv_head_count == problem.heads else f" on {plural(problem.kv_head_count, 'kv head')}"
    batch = "" if problem.batch == 1 else f"batch {problem.batch}, "
    softcap = "" if problem.softcap is None else f", softcap {number_text(problem.softcap)}"
    return (
        f"{configuration.input}: {batch}{plural(problem.heads, 'head')}{grouped}, {count_text(problem.q_len)} queries "
        f"by {count_text(problem.kv_len)} keys, head dim {problem.head_dim}, {problem.dtype}, {mask_text(problem)}, "
        f"scale {number_text(problem.scale_in_force)}{softcap}"
    )


def mask_text(problem: AttentionProblem) -> str:
    """The masks of a problem in words: 'no mask', 'causal, top-left', 'window 128, 0', joined where there are more."""
    parts = []
    if problem.causal:
        parts.append(f"causal, {problem.alignment}")
    if problem.window is not None:
        left, right = ("all" if side is None else str(side) for side in problem.window)
        parts.append(f"window of {left} to the left and {right} to the right")
    if problem.q_segment_ids is not None:
        parts.append("segments")
    if problem.kv_lengths is not None:
        parts.append("key lengths")
    if problem.mask is not None:
        parts.append("mask array")
    if problem.bias is not None:
        parts.append("bias")
    return " and ".join(parts) or "no mask"


def kernel_text(configured: Configured) -> str:
    """'flash, tiles of 16 × 16, 60 of 144 emptied by the mask'; the name alone of a kernel without tiles."""
    if not configured.driven:
        return configured.kernel
    blocks = configured.blocks
    sizes = f"{configured.kernel}, tiles of {blocks.block_q} × {blocks.block_kv}"
    states = configured.tile_states
    skipped = int(np.count_nonzero(states == 0))
    return f"{sizes}, {count_text(skipped)} of {count_text(states.size)} emptied by the mask" if skipped else sizes


def _circumstances(prepared: Prepared, configured: Configured, jax_version: str) -> dict[str, Any]:
    problem = configured.problem
    return {
        "problem": {
            "batch": problem.batch,
            "heads": problem.heads,
            "kv_heads": problem.kv_head_count,
            "q_len": problem.q_len,
            "kv_len": problem.kv_len,
            "head_dim": problem.head_dim,
            "dtype": problem.dtype,
            "scale": problem.scale_in_force,
            "softcap": problem.softcap,
            "mask": mask_text(problem),
            "empty_rows": problem.empty_rows,
        },
        "blocks": {"block_q": configured.blocks.block_q, "block_kv": configured.blocks.block_kv},
        "options": option_text(prepared.configuration),
        "configuration": msgspec.to_builtins(prepared.configuration),
        "input": {
            "title": prepared.inputs.title,
            "source": prepared.inputs.source,
            "licence": prepared.inputs.licence,
        },
        "seed": prepared.configuration.seed,
        "chip": configured.chip.name,
        "versions": versions(jax_version),
        "notes": [*prepared.notes, *configured.notes],
    }


def _timing(timing: Timing) -> dict[str, Any]:
    return {
        "compile": timing.compile_ms,
        "median": timing.median_ms,
        "p95": timing.p95_ms,
        "count": timing.count,
        "ran_on": timing.ran_on,
    }


def _timing_text(timing: Timing) -> str:
    runs, compiled = plural(timing.count, "run"), ms_text(timing.compile_ms)
    return f"{ms_text(timing.median_ms)} median, {ms_text(timing.p95_ms)} p95 of {runs}; compiled in {compiled}"


def _memory_rows(configured: Configured) -> list[tuple[str, str]]:
    memory = configured.memory
    naive = f"naive {byte_text(memory.hbm_moved_naive)} (model)"
    if not configured.driven:
        return [("VMEM", "not known: this is no Pallas kernel"), ("HBM", f"not known; {naive}")]
    limit = f"{byte_text(memory.vmem_limit)} scoped limit ({configured.chip.name})"
    return [
        ("VMEM", f"{byte_text(memory.vmem_peak)} of {limit}, a model and a lower bound"),
        ("HBM", f"{byte_text(memory.hbm_moved)} moved; {naive}"),
    ]


def _transfer(transfer: Transfer) -> dict[str, Any]:
    data = msgspec.structs.asdict(transfer)
    del data["role"]
    return data


def _transfer_text(transfer: Transfer) -> str:
    way = "into" if transfer.direction == "in" else "out of"
    block = ", ".join(str(index) for index in transfer.block)
    sizes = f"{byte_text(transfer.bytes)} ({byte_text(transfer.logical_bytes)} of data)"
    return f"{transfer.operand}[{block}] {way} slot {transfer.slot}, {sizes}"


def _tile_text(snapshot: Snapshot) -> str:
    if snapshot.q_block < 0:
        return "not known for this kernel"
    rows, keys = snapshot.q_range, snapshot.kv_range
    text = f"queries {rows[0]} to {rows[1] - 1} meet keys {keys[0]} to {keys[1] - 1}"
    return text if snapshot.computed else f"{text}: skipped, the mask empties it"


def _softmax_rows(softmax: SoftmaxState | None) -> list[tuple[str, str]]:
    if softmax is None:
        return [("softmax", "not named in this kernel")]
    rows = {"m": softmax.m_after, "l": softmax.l_after, "alpha": softmax.alpha}
    return [(name, " ".join(number_text(float(value)) for value in values)) for name, values in rows.items()]


def _table(rows: list[tuple[str, str]]) -> str:
    width = max(len(name) for name, _ in rows)
    return "\n".join(f"{name:<{width}}  {text}" for name, text in rows)
