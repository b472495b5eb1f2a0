"""The online-softmax recurrence of one row, written out with its numbers. No Qt."""

from __future__ import annotations

import numpy as np

from explorer.link.messages import Snapshot
from explorer.session.state import StepState
from explorer.ui.views.shown import ACCUMULATE, SCORE, keeps_normalised, selected_row, shown_stage
from explorer.units import error_text, number_text


def signed(value: float) -> str:
    """'+2.841', '−0.313', '−∞': four significant digits, with a sign."""
    if not np.isfinite(value):
        return number_text(value).replace("-", "−")
    return f"{value:+.4g}".replace("-", "−")


def plain(value: float) -> str:
    """'2.841', '−0.313': four significant digits."""
    return f"{value:.4g}".replace("-", "−") if np.isfinite(value) else number_text(value).replace("-", "−")


def row_lines(state: StepState) -> list[tuple[str, str]]:
    """(name, text) of each line for the row in question, up to the stage shown; none where the kernel names nothing."""
    snapshot, row = state.snapshot, selected_row(state)
    if snapshot is None or snapshot.softmax is None or row is None:
        return []
    at, stage = row - snapshot.q_range[0], shown_stage(state)
    lines = _softmax_lines(snapshot, at, stage)
    if snapshot.acc_after is not None and snapshot.acc_before is not None:
        lines += _output_lines(snapshot, at, row, stage)
    return lines


def _softmax_lines(snapshot: Snapshot, at: int, stage: int) -> list[tuple[str, str]]:
    softmax = snapshot.softmax
    assert softmax is not None
    before, after = float(softmax.m_before[at]), float(softmax.m_after[at])
    l_before, l_after = float(softmax.l_before[at]), float(softmax.l_after[at])
    if stage < SCORE or not snapshot.computed:
        return [("m", signed(before)), ("α", "–"), ("l", plain(l_before))]
    alpha, added = float(softmax.alpha[at]), float(softmax.new_sum[at])
    second = f"− {plain(after)}" if after >= 0 or not np.isfinite(after) else f"+ {plain(-after)}"
    return [
        ("m", f"{signed(before)} → {signed(after)}"),
        ("α", f"exp({plain(before)} {second}) = {alpha:.4f}"),
        ("l", f"{plain(l_before)}·α + {plain(added)} = {plain(l_after)}"),
    ]


def _output_lines(snapshot: Snapshot, at: int, row: int, stage: int) -> list[tuple[str, str]]:
    assert snapshot.acc_before is not None
    assert snapshot.acc_after is not None
    norm_before = float(np.linalg.norm(snapshot.acc_before[at].astype(np.float64)))
    norm_after = float(np.linalg.norm(snapshot.acc_after[at].astype(np.float64)))
    if stage < ACCUMULATE or not snapshot.computed:
        return [("acc", f"‖acc‖ = {plain(norm_before)}")]
    found = f"acc·α + p·V[{snapshot.kv_block}]"
    lines = [("acc", found), ("", f"‖acc‖ {plain(norm_before)} → {plain(norm_after)}")]
    error = float(snapshot.error_float64[row])
    name = "O = acc" if keeps_normalised(snapshot) else "O = acc/l"
    if np.isfinite(error):
        lines.append(("O", f"{name[4:]}, off float64 by {error_text(error)}"))
    elif np.isnan(snapshot.output[row]).any():
        lines.append(("O", "no key seen yet" if _unseen(snapshot, at) else "NaN"))
    return lines


def row_sentence(state: StepState, name: str) -> str:
    """What this step did to the running softmax of a row, in plain words; ``name`` is the row's."""
    snapshot, row = state.snapshot, selected_row(state)
    assert snapshot is not None
    assert snapshot.softmax is not None
    assert row is not None
    softmax, at = snapshot.softmax, row - snapshot.q_range[0]
    before, after, total = (float(part[at]) for part in (softmax.m_before, softmax.m_after, softmax.l_after))
    if not snapshot.computed or shown_stage(state) < SCORE:
        return f"Row {name}: m is {plain(before)} and l {plain(float(softmax.l_before[at]))}, as the step found them."
    if np.isneginf(after):
        return f"Row {name} has seen no key yet: m is −∞ and l 0."
    if not np.isfinite(after + total):
        return f"Row {name}: m is {plain(after)} and l {plain(total)}, which is no number to divide by."
    if np.isneginf(before):
        return f"Row {name} saw its first keys: m is now {plain(after)} and l {plain(total)}."
    if after > before:
        return (
            f"Row {name}: m rose from {plain(before)} to {plain(after)}, so l and acc were scaled by "
            f"{number_text(float(softmax.alpha[at]))}; l is now {plain(total)}."
        )
    return f"Row {name}: m stayed at {plain(after)}, so nothing was rescaled; l grew to {plain(total)}."


def fitting_lines(lines: list[tuple[str, str]], most: int) -> list[tuple[str, str]]:
    """At most ``most`` lines: the formula of acc, which has no numbers, goes first, then acc."""
    if len(lines) > most:
        lines = [(name or "acc", text) for name, text in lines if not text.startswith("acc·α")]
    if len(lines) > most:
        lines = [(name, text) for name, text in lines if name != "acc"]
    return lines[: max(most, 0)]


def _unseen(snapshot: Snapshot, at: int) -> bool:
    return snapshot.softmax is not None and bool(np.isneginf(snapshot.softmax.m_after[at]))
