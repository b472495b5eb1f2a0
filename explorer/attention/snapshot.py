"""From a step record to the snapshot that the window shows."""

from __future__ import annotations

import numpy as np

from explorer.attention import evidence
from explorer.attention.lens import role, stage_of
from explorer.attention.matrix import remember
from explorer.attention.moment import Moment
from explorer.attention.output import output_so_far
from explorer.engine import memory as engine_memory
from explorer.link.messages import BufferState, MemoryInfo, ProbedValue, Snapshot, StepTiming, Transfer


def snapshot(moment: Moment, request_id: int, memory: MemoryInfo, timing: StepTiming | None) -> Snapshot:
    """Everything the Step page shows of one grid step (see ``messages.Snapshot`` for shapes and units)."""
    remember(moment)
    batch, head, q_block, kv_block = moment.place
    problem, driven = moment.subject.problem, moment.driven
    listed = transfers(moment)
    so_far = output_so_far(moment)
    in_head = driven.head_steps(batch, head)
    states = buffer_states(moment)
    return Snapshot(
        id=request_id,
        step=moment.step,
        steps=driven.steps,
        coords=tuple(int(x) for x in moment.record.coords),
        batch=batch,
        head=head,
        kv_head=head // (problem.heads // problem.kv_head_count),
        q_block=q_block,
        kv_block=kv_block,
        q_range=(moment.rows.start, moment.rows.stop),
        kv_range=(moment.keys.start, moment.keys.stop),
        computed=moment.computed,
        tiles_done=int(driven.computed[in_head[in_head <= moment.step]].sum()),
        tiles_total=int(driven.computed[in_head].sum()),
        tiles_skipped=int((~driven.computed[in_head]).sum()),
        scores=moment.tile("S"),
        probabilities=moment.tile("P"),
        allowed=moment.allowed,
        softmax=moment.softmax,
        acc_before=moment.carried("acc", after=False),
        acc_after=moment.carried("acc", after=True),
        output=so_far.values,
        output_done=so_far.done,
        error_float64=so_far.error_float64,
        error_naive=so_far.error_naive,
        transfers=listed,
        buffers=states,
        stages=evidence.stages(moment, listed, memory),
        values=probed_values(moment),
        timing=timing,
        vmem_live=live_bytes(states, memory, moment.computed),
        hbm_moved=int(driven.moved[moment.step]),
        rss_bytes=engine_memory.process_rss(),
        device_bytes=engine_memory.device_bytes(),
    )


def transfers(moment: Moment) -> tuple[Transfer, ...]:
    """The copies between HBM and VMEM that belong to this step, in operand order."""
    display = moment.driven.lens.display
    return tuple(
        Transfer(
            operand=display(t.operand), role=role(display(t.operand)), block=tuple(int(x) for x in t.block),
            direction=t.direction, slot=t.slot, bytes=t.bytes, logical_bytes=t.logical_bytes,
        )
        for t in moment.driven.pipeline.transfers(moment.step)
    )  # fmt: skip


def buffer_states(moment: Moment) -> tuple[BufferState, ...]:
    """What each VMEM slot of each block operand holds during this step."""
    display = moment.driven.lens.display
    return tuple(
        BufferState(
            operand=display(b.operand), role=role(display(b.operand)), slot=b.slot,
            block=None if b.block is None else tuple(int(x) for x in b.block), state=b.state,
        )
        for b in moment.driven.pipeline.buffers(moment.step)
    )  # fmt: skip


def live_bytes(states: tuple[BufferState, ...], memory: MemoryInfo, computed: bool) -> int:
    """Bytes of the slots that hold something, the scratch, and S and P where a tile is computed; padded."""
    live = 0
    for item in memory.buffers:
        if item.kind == "block":
            full = sum(s.state != "empty" for s in states if s.operand == item.name)
            live += item.bytes_padded // item.slots * full
        elif item.kind == "scratch" or computed:
            live += item.bytes_padded
    return live


def probed_values(moment: Moment) -> tuple[ProbedValue, ...]:
    """Every probed floating-point equation of the body, with its range in this step."""
    names = {index: name for name, index in moment.driven.lens.values.items()}
    listed = []
    for equation in moment.driven.program.equations:
        if equation.index not in moment.record.executed:
            continue
        executed = moment.record.executed[equation.index]
        value = np.asarray(moment.record.values[equation.index], np.float32) if executed else np.zeros(0, np.float32)
        finite = value[np.isfinite(value)]
        listed.append(
            ProbedValue(
                name=names.get(equation.index, ""), primitive=equation.primitive, file=equation.file,
                line=equation.line, function=equation.function, scope=equation.scope,
                stage=stage_of(equation.scope), shape=tuple(equation.shape), dtype=str(equation.dtype),
                executed=executed, minimum=float(finite.min()) if finite.size else float("nan"),
                maximum=float(finite.max()) if finite.size else float("nan"),
                nonfinite=int(value.size - finite.size), nans=int(np.isnan(value).sum()),
            )
        )  # fmt: skip
    return tuple(listed)
