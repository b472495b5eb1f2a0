"""The five stages of a grid step: what each consumed, changed and cost, and whether its evidence holds."""

from __future__ import annotations

import numpy as np

from explorer.attention import output
from explorer.attention.lens import STAGE_TITLES
from explorer.attention.moment import Moment
from explorer.attention.partition import partition_evidence
from explorer.link.messages import MemoryInfo, StageEvidence, Transfer
from explorer.units import byte_text, number_text


def stages(moment: Moment, transfers: tuple[Transfer, ...], memory: MemoryInfo) -> tuple[StageEvidence, ...]:
    """Evidence of all five stages for one step, in order."""
    return (
        _partition(moment),
        _load(moment, transfers),
        _score_and_normalise(moment),
        _accumulate(moment),
        _schedule(moment, memory),
    )


def _partition(moment: Moment) -> StageEvidence:
    holds, evidence = partition_evidence(moment)
    skipped = int((~moment.driven.computed).sum())
    steps = moment.driven.steps
    rows, keys = moment.rows, moment.keys
    return StageEvidence(
        number=1, name=STAGE_TITLES[1], source="execution",
        consumed=f"grid step {moment.step + 1} of {steps}",
        changed=f"query rows {rows.start}–{rows.stop - 1} meet keys {keys.start}–{keys.stop - 1}",
        cost=f"{steps - skipped} of {steps} tiles, {skipped} skipped",
        evidence=evidence, holds=holds,
    )  # fmt: skip


def _load(moment: Moment, transfers: tuple[Transfer, ...]) -> StageEvidence:
    loads = [t for t in transfers if t.direction == "in"]
    names = ", ".join(f"{t.operand.upper()}[{_row_block(t)}] to slot {t.slot}" for t in loads)
    moved, logical = sum(t.bytes for t in loads), sum(t.logical_bytes for t in loads)
    holds, evidence = _loaded_blocks_match(moment)
    return StageEvidence(
        number=2, name=STAGE_TITLES[2], source="execution",
        consumed=f"{len(loads)} block{'s' if len(loads) != 1 else ''} from HBM" if loads else "nothing: blocks held",
        changed=names or "no block index changed",
        cost=f"{byte_text(moved)} moved ({byte_text(logical)} of data)",
        evidence=evidence, holds=holds,
    )  # fmt: skip


def _row_block(transfer: Transfer) -> int:
    """Index of a block along the sequence, the one dimension that a reader follows: second to last."""
    return transfer.block[-2] if len(transfer.block) > 1 else transfer.block[-1]


def _loaded_blocks_match(moment: Moment) -> tuple[bool | None, str]:
    """Compare the blocks the kernel saw with the rows of Q, K and V that the tile stands for."""
    if not moment.computed:
        return None, "the step reads no block"
    batch, head, _, _ = moment.place
    problem = moment.subject.problem
    kv_head = head // (problem.heads // problem.kv_head_count)
    wanted = {"q": (0, head, moment.rows), "k": (1, kv_head, moment.keys), "v": (2, kv_head, moment.keys)}
    checked = 0
    for name, (position, owner, rows) in wanted.items():
        block = moment.record.blocks.get(moment.driven.lens.refs.get(name, ""))
        if block is None:
            continue
        got = np.asarray(block, np.float32).reshape(block.shape[-2:])[: rows.stop - rows.start]
        if not np.array_equal(got, moment.subject.operands[position][batch, owner, rows], equal_nan=True):
            return False, f"the {name.upper()} block in VMEM differs from rows {rows.start}–{rows.stop - 1} in HBM"
        checked += got.size
    if not checked:
        return None, "operands of this kernel are not named"
    return True, f"Q, K, V in VMEM equal their HBM rows, {checked} values"


def _score_and_normalise(moment: Moment) -> StageEvidence:
    softmax = moment.softmax
    if softmax is None or not moment.computed:
        return _silent(moment, 3, "scores S and the running m, l")
    tolerance = moment.subject.references.tolerances
    m_error, l_error = softmax_errors(moment)
    rose = int((softmax.m_after > softmax.m_before).sum())
    holds = bool(m_error <= tolerance.score and l_error <= tolerance.weight)
    return StageEvidence(
        number=3, name=STAGE_TITLES[3], source="execution",
        consumed=f"S = scale·Q·Kᵀ, {moment.row_count} × {moment.keys.stop - moment.keys.start}",
        changed=f"m rose in {rose} of {moment.row_count} rows",
        cost=f"{int(moment.allowed.sum())} exp of {moment.allowed.size} cells",
        evidence=f"m within {number_text(m_error)}, l within {number_text(l_error)} relative, of float64", holds=holds,
    )  # fmt: skip


def softmax_errors(moment: Moment) -> tuple[float, float]:
    """Largest |m - m64|, and largest |l·exp(m - m64) / l64 - 1|, over rows that have seen a key."""
    softmax = moment.softmax
    assert softmax is not None
    expected = moment.expected
    seen = expected.l > 0
    if not seen.any():
        return 0.0, 0.0
    m_got = softmax.m_after.astype(np.float64)[seen]
    m_error = np.abs(m_got - expected.m[seen])
    l_got = softmax.l_after.astype(np.float64)[seen]
    # l is relative to the kernel's own m; compare both sums relative to that same m
    wanted = expected.l[seen] * np.exp(expected.m[seen] - m_got)
    l_error = np.abs(l_got - wanted) / wanted
    return _largest(m_error), _largest(l_error)


def _largest(errors: np.ndarray) -> float:
    return float(np.where(np.isnan(errors), np.inf, errors).max())


def _accumulate(moment: Moment) -> StageEvidence:
    if moment.output_rows is None or not moment.computed:
        return _silent(moment, 4, "P·V and the accumulator")
    errors = output.row_errors(moment.output_rows, moment.expected.o)[moment.expected.l > 0]
    error = float(errors.max()) if errors.size else 0.0
    tolerance = moment.subject.references.tolerances.output
    problem = moment.subject.problem
    flops = 4 * moment.subject.blocks.block_q * moment.subject.blocks.block_kv * problem.head_dim
    return StageEvidence(
        number=4, name=STAGE_TITLES[4], source="execution",
        consumed=f"P·V over keys {moment.keys.start}–{moment.keys.stop - 1}",
        changed="acc rescaled by α, P·V added",
        cost=f"{number_text(flops / 1e6)} MFLOP for S and P·V",
        evidence=f"acc/l within {number_text(error)} of float64 over {moment.seen_after} keys",
        holds=bool(error <= tolerance),
    )  # fmt: skip


def _silent(moment: Moment, number: int, what: str) -> StageEvidence:
    """A stage of which nothing can be said in this step: the tile is skipped, or the kernel's values have no names."""
    reason = "the mask empties this tile" if not moment.computed else "this kernel's values are not named"
    return StageEvidence(
        number=number, name=STAGE_TITLES[number], source="execution", consumed=f"no {what}", changed="nothing",
        cost="none" if not moment.computed else "not known", evidence=f"not checked: {reason}", holds=None,
    )  # fmt: skip


def _schedule(moment: Moment, memory: MemoryInfo) -> StageEvidence:
    chip = moment.subject.chip.name
    fits = memory.vmem_peak <= memory.vmem_limit
    share = 100 * memory.vmem_peak / memory.vmem_limit
    refusal = moment.subject.kernel.refusal(moment.subject.problem, moment.subject.blocks, "tpu")
    if refusal:
        evidence = f"a TPU would refuse: {refusal}"
    elif fits:
        evidence = f"{number_text(share)} % of {chip}'s scoped limit (model, a lower bound)"
    else:
        evidence = f"model: {byte_text(memory.vmem_peak)} of {byte_text(memory.vmem_limit)}: does not fit {chip}"
    return StageEvidence(
        number=5, name=STAGE_TITLES[5], source="model",
        consumed=f"blocks {moment.subject.blocks.block_q} × {moment.subject.blocks.block_kv}",
        changed="output block written" if moment.output_written else "next blocks prefetched",
        cost=f"{byte_text(memory.vmem_peak)} of VMEM",
        evidence=evidence, holds=False if refusal or not fits else None,
    )  # fmt: skip
