"""What the matrix view says: the sentence under it, and the tip of a cell. No Qt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from explorer.link.messages import Matrix, Snapshot
from explorer.session.state import StepState
from explorer.ui.views.shown import SCORE, shown_stage
from explorer.ui.views.tiles import NO_STEP, TileMap, known_tiles
from explorer.units import count_text, number_text, plural

_ORDINALS = (
    "first",
    "second",
    "third",
    "fourth",
    "fifth",
    "sixth",
    "seventh",
    "eighth",
    "ninth",
    "tenth",
    "eleventh",
    "twelfth",
)


def span(bounds: tuple[int, int]) -> str:
    """'48–63' of a half-open range, '48' of a single one."""
    start, stop = bounds
    return f"{start}" if stop - start == 1 else f"{start}–{stop - 1}"


def ordinal(number: int) -> str:
    """'ninth', '21st', '112th'."""
    if 1 <= number <= len(_ORDINALS):
        return _ORDINALS[number - 1]
    suffix = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{count_text(number)}{suffix}"


def matrix_sentence(state: StepState) -> str:
    """Where the step stands in the matrix, and what the selected row has seen."""
    snapshot = state.snapshot
    assert snapshot is not None
    if not known_tile(snapshot):
        return (
            f"Grid step {count_text(snapshot.step + 1)} of this kernel: which tile it works on is not known, only "
            "what it moves and computes."
        )
    rows, keys = span(snapshot.q_range), span(snapshot.kv_range)
    row_word = "row" if snapshot.q_range[1] - snapshot.q_range[0] == 1 else "rows"
    parts = [f"Query {row_word} {rows} meet keys {keys}.", _progress(snapshot, shown_stage(state))]
    row = state.selection.row
    if row is not None:
        parts.append(_selected(state, snapshot, row))
    if state.matrix is not None and state.matrix.pool > 1:
        parts.append(f"Each cell is the maximum of {state.matrix.pool} × {state.matrix.pool} pairs.")
    return " ".join(parts)


def known_tile(snapshot: Snapshot) -> bool:
    """Whether the explorer knows which queries and keys the step works on."""
    return snapshot.q_range[1] > snapshot.q_range[0]


def _progress(snapshot: Snapshot, stage: int) -> str:
    skipped = snapshot.tiles_skipped
    masked = f"; the mask empties {skipped}, which are skipped" if skipped > 1 else ""
    masked = "; the mask empties one, which is skipped" if skipped == 1 else masked
    if not snapshot.computed:
        return (
            f"The mask empties this tile, so nothing is computed: {count_text(snapshot.tiles_done)} of "
            f"{plural(snapshot.tiles_total, 'tile')} of this head are done."
        )
    if stage < SCORE:
        return f"{_done(snapshot.tiles_done - 1)}, this one is next of {snapshot.tiles_total}{masked}."
    return f"This is the {ordinal(snapshot.tiles_done)} of {plural(snapshot.tiles_total, 'tile')}{masked}."


def _done(count: int) -> str:
    return f"{plural(count, 'tile')} {'is' if count == 1 else 'are'} done"


def _selected(state: StepState, snapshot: Snapshot, row: int) -> str:
    name = token_name(state.inputs.q_tokens if state.inputs else (), row)
    start, stop = snapshot.q_range
    if snapshot.softmax is None or not start <= row < stop:
        return f"Selected: row {name}."
    reached = shown_stage(state) >= SCORE
    largest = float((snapshot.softmax.m_after if reached else snapshot.softmax.m_before)[row - start])
    if np.isneginf(largest):
        return f"Selected: row {name}, which has seen no key yet."
    return f"Selected: row {name}, its largest score so far is {number_text(largest)}."


def visible(token: str) -> str:
    """A token with line breaks, tabs and other unprintable characters written out."""
    return token if token.isprintable() else token.encode("unicode_escape").decode("ascii")


def token_name(tokens: Sequence[str], index: int) -> str:
    """'53 “lapar”' where tokens are known, '53' elsewhere."""
    return f"{index} “{visible(tokens[index])}”" if index < len(tokens) else f"{index}"


@dataclass(frozen=True)
class Cell:
    row: int
    column: int


def cell_tip(state: StepState, tiles: TileMap, cell: Cell, matrix: Matrix | None) -> str:
    """Exact value of a cell, the tokens that meet in it and the grid step that computes it."""
    inputs = state.inputs
    lines = [
        f"query {token_name(inputs.q_tokens if inputs else (), cell.row)}",
        f"key {token_name(inputs.kv_tokens if inputs else (), cell.column)}",
    ]
    if matrix is not None:
        lines.append(f"{matrix.title}: {_value(state, tiles, cell, matrix)}")
    q_block, kv_block = tiles.tile_of(cell.row, cell.column)
    step = tiles.step_of(cell.row, cell.column)
    if tiles.states[q_block, kv_block] == 0:
        lines.append(f"tile ({q_block}, {kv_block}): skipped, the mask empties it")
    elif step == NO_STEP:
        lines.append(f"tile ({q_block}, {kv_block})")
    else:
        when = f"computed in grid step {count_text(step + 1)} (Ctrl-click or double-click to go)"
        lines.append(f"tile ({q_block}, {kv_block}), {when}")
    return "\n".join(lines)


def _value(state: StepState, tiles: TileMap, cell: Cell, matrix: Matrix) -> str:
    place = cell.row // matrix.pool, cell.column // matrix.pool
    if not matrix.allowed[place]:
        return "masked"
    assert state.snapshot is not None
    known = known_tiles(matrix, tiles, state.snapshot.step, shown_stage(state) >= SCORE)
    if known is not None and not known[tiles.tile_of(cell.row, cell.column)]:
        return "not computed yet"
    value = float(matrix.values[place])
    # the shortest decimal that is this float32 and no other: exact, and no longer than needed
    exact = str(matrix.values.dtype.type(value)) if np.isfinite(value) else number_text(value)
    return exact if matrix.pool == 1 else f"{exact} (maximum of {matrix.pool} × {matrix.pool} pairs)"
