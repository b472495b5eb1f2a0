"""Snapshots of kernels that no lens knows: source lines, refs and transfers, and no more than that."""

from __future__ import annotations

import numpy as np

from explorer.attention.lens import STAGE_TITLES
from explorer.attention.moment import Moment
from explorer.attention.snapshot import buffer_states, live_bytes, probed_values, transfers
from explorer.engine import memory as engine_memory
from explorer.link.messages import MemoryInfo, Snapshot, StageEvidence, StepTiming


def generic_snapshot(moment: Moment, request_id: int, memory: MemoryInfo, timing: StepTiming | None) -> Snapshot:
    """One step of an unnamed kernel. The attention fields are None, and the output stays NaN: it has no known rows."""
    problem, driven = moment.subject.problem, moment.driven
    unknown = np.full(problem.q_len, np.nan)
    states = buffer_states(moment)
    return Snapshot(
        id=request_id, step=moment.step, steps=driven.steps, coords=tuple(int(x) for x in moment.record.coords),
        batch=0, head=0, kv_head=0, q_block=-1, kv_block=-1, q_range=(0, 0), kv_range=(0, 0), computed=True,
        tiles_done=moment.step + 1, tiles_total=driven.steps, tiles_skipped=0, scores=None, probabilities=None,
        allowed=None, softmax=None, acc_before=None, acc_after=None,
        output=np.full((problem.q_len, problem.head_dim), np.nan, np.float32),
        output_done=np.zeros(problem.q_len, np.int8), error_float64=unknown, error_naive=unknown,
        transfers=transfers(moment), buffers=states, stages=_unnamed_stages(moment), values=probed_values(moment),
        timing=timing, vmem_live=live_bytes(states, memory, True), hbm_moved=int(driven.moved[moment.step]),
        rss_bytes=engine_memory.process_rss(), device_bytes=engine_memory.device_bytes(),
    )  # fmt: skip


def _unnamed_stages(moment: Moment) -> tuple[StageEvidence, ...]:
    moved = sum(t.bytes for t in moment.driven.pipeline.transfers(moment.step) if t.direction == "in")
    return tuple(
        StageEvidence(
            number=number, name=title, consumed="not known", changed="not known",
            cost=f"{moved} B moved" if number == 2 else "not known",
            evidence="not checked: this kernel names no stages; see its values by source line",
            holds=None, source="execution",
        )
        for number, title in STAGE_TITLES.items()
    )  # fmt: skip
