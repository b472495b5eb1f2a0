"""What changes with every step over the matrix: veil, bands, current tile, selection, output, error and labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from PySide6.QtCore import QPointF, QRectF

from explorer.link.messages import Matrix, Snapshot
from explorer.session.state import Selection
from explorer.ui.views.legend import SWATCH, level_bar, swatch_list
from explorer.ui.views.levels import Levels
from explorer.ui.views.matrix_geometry import GAP, Geometry
from explorer.ui.views.matrix_picture import StripLevels, matrix_levels
from explorer.ui.views.matrix_words import visible
from explorer.ui.views.sheet import CENTRE, RIGHT, Sheet, shade
from explorer.ui.views.shown import LOAD, SCORE, TO_COME, ShownOutput
from explorer.ui.views.tiles import TO_COME as TILE_TO_COME, TileMap, runs
from explorer.units import error_text, number_text

VEIL = 0.62
"""Share of the ground in tiles to come."""


@dataclass(frozen=True)
class Scene:
    """All that the overlay needs of a state, in one place."""

    snapshot: Snapshot
    stage: int
    tiles: TileMap
    geometry: Geometry
    selection: Selection
    q_tokens: Sequence[str] = ()
    kv_tokens: Sequence[str] = ()


def draw_veil(sheet: Sheet, scene: Scene) -> None:
    """Fade the tiles that are still to come; before stage 3 the current one is."""
    progress = scene.tiles.progress(scene.snapshot.step, scene.stage >= SCORE)
    rows, columns = scene.tiles.edges()
    colour = shade(sheet.theme.panel, VEIL)
    for top, bottom, left, right in runs(progress == TILE_TO_COME):
        rect = scene.geometry.cells((rows[top], rows[bottom]), (columns[left], columns[right]))
        if rect.width() > 0 and rect.height() > 0:
            sheet.painter.fillRect(rect, colour)


def draw_bands(sheet: Sheet, scene: Scene) -> None:
    """Dashed bands of the Q rows and of the K and V columns that meet in the current tile, and the tile itself."""
    theme, geometry, snapshot = sheet.theme, scene.geometry, scene.snapshot
    everything = geometry.matrix
    tile = geometry.cells(snapshot.q_range, snapshot.kv_range)
    band, column = QRectF(everything), QRectF(everything)
    band.setTop(tile.top())
    band.setBottom(tile.bottom())
    column.setLeft(tile.left())
    column.setRight(tile.right())
    loaded = scene.stage >= LOAD
    if band.height() > 0:
        for y in (band.top(), band.bottom()):
            for left, right in ((band.left(), tile.left()), (tile.right(), band.right())):
                sheet.line(QPointF(left, y), QPointF(right, y), theme.q, 1.5, dashed=True)
        for rect, colour in ((geometry.q, theme.q), (geometry.output, theme.acc)):
            cut = QRectF(rect.left(), band.top(), rect.width(), band.height())
            sheet.box(cut, colour, width=2.5, dashed=not loaded and rect is geometry.q)
    if column.width() > 0:
        for x in (column.left(), column.right()):
            for top, bottom in ((column.top(), tile.top()), (tile.bottom(), column.bottom())):
                sheet.line(QPointF(x, top), QPointF(x, bottom), theme.k, 1.5, dashed=True)
        for rect, colour in ((geometry.k, theme.k), (geometry.v, theme.v)):
            cut = QRectF(column.left(), rect.top(), column.width(), rect.height())
            sheet.box(cut, colour, width=2.5, dashed=not loaded)
    if tile.width() > 0 and tile.height() > 0:
        # around the tile, not over its cells
        sheet.box(tile.adjusted(-4, -4, 4, 4), theme.panel, width=1)
        sheet.box(tile.adjusted(-3, -3, 3, 3), theme.scores, width=3)


def draw_selection(sheet: Sheet, scene: Scene) -> None:
    """The selected row through all that has rows, the selected column likewise; an outline once cells are large."""
    geometry, selection, window = scene.geometry, scene.selection, scene.geometry.window
    height, width = geometry.cell_size
    colour = sheet.theme.text
    if selection.row is not None and window.row0 - 1 < selection.row < window.row1:
        rect = geometry.cells((selection.row, selection.row + 1), (window.column0, window.column1))
        for part in (geometry.q, geometry.matrix, geometry.output):
            strip = QRectF(part.left(), rect.top(), part.width(), rect.height())
            _line_or_box(sheet, strip, colour, along_x=True, large=height >= 5)
    if selection.column is not None and window.column0 - 1 < selection.column < window.column1:
        rect = geometry.cells((window.row0, window.row1), (selection.column, selection.column + 1))
        for part in (geometry.k, geometry.matrix, geometry.v):
            strip = QRectF(rect.left(), part.top(), rect.width(), part.height())
            _line_or_box(sheet, strip, colour, along_x=False, large=width >= 5)


def _line_or_box(sheet: Sheet, rect: QRectF, colour: str, along_x: bool, large: bool) -> None:
    if large:
        sheet.box(rect, colour, width=1)
    elif along_x:
        y = rect.center().y()
        sheet.line(QPointF(rect.left(), y), QPointF(rect.right(), y), colour, width=1.5)
    else:
        x = rect.center().x()
        sheet.line(QPointF(x, rect.top()), QPointF(x, rect.bottom()), colour, width=1.5)


def draw_error(sheet: Sheet, scene: Scene, shown: ShownOutput) -> None:
    """Largest |output - float64| of each row block, as a number where the block is high enough for one."""
    theme, geometry, tiles = sheet.theme, scene.geometry, scene.tiles
    sheet.box(geometry.error, theme.border, theme.panel)
    line = sheet.fonts.height("small")
    every = tiles.block_q * geometry.cell_size[0] >= line
    for q_block in range(tiles.states.shape[0]):
        rows = tiles.rows_of(q_block)
        band = geometry.cells(rows, (0, tiles.kv_len))
        current = q_block == scene.snapshot.q_block
        if band.height() <= 0 or (shown.done[slice(*rows)] == TO_COME).all() or not (every or current):
            continue
        text, wrong = block_error(shown, rows)
        room = QRectF(geometry.error.left() + 1, band.center().y() - line / 2, geometry.error.width() - 2, line)
        room.moveTop(min(max(room.top(), geometry.error.top()), geometry.error.bottom() - line))
        colour = theme.wrong if wrong else theme.text if current else theme.muted
        sheet.fitting(room, [text], colour, "small_bold" if current else "small", CENTRE)


def block_error(shown: ShownOutput, rows: tuple[int, int]) -> tuple[str, bool]:
    """(text, is it wrong) of a row block: largest error of its rows; an output that is no number where there should be
    one is wrong.
    """
    here = shown.done[slice(*rows)] != TO_COME
    error, values = shown.error[slice(*rows)][here], shown.values[slice(*rows)][here]
    if np.isinf(error).any() or np.isinf(values).any():
        return "∞", True
    if (np.isnan(error) & np.isnan(values).any(axis=1)).any():
        return "NaN", True
    return (error_text(float(np.nanmax(error))), False) if np.isfinite(error).any() else ("–", False)


def draw_labels(sheet: Sheet, scene: Scene) -> None:
    """Names of the parts, and tokens or tile numbers on the axes."""
    theme, geometry = sheet.theme, scene.geometry
    line = sheet.fonts.height("small")
    beside = geometry.q.width()
    left = geometry.k.left() - GAP
    sheet.text(
        QRectF(geometry.q.left(), geometry.k.bottom() - line, beside * 0.6, line), "Q", theme.muted, align=CENTRE
    )
    sheet.text(QRectF(left - beside * 0.4, geometry.k.top(), beside * 0.4, line), "K", theme.muted, align=RIGHT)
    sheet.text(QRectF(left - beside, geometry.v.center().y() - line / 2, beside, line), "V", theme.muted, align=RIGHT)
    heading = geometry.headings
    for rect, name in ((geometry.output, "O so far"), (geometry.error, "|error|")):
        sheet.text(QRectF(rect.left(), heading.top(), rect.width(), line), name, theme.muted, align=CENTRE)
    _row_axis(sheet, scene)
    _column_axis(sheet, scene)


def _row_axis(sheet: Sheet, scene: Scene) -> None:
    geometry, tiles, theme = scene.geometry, scene.tiles, sheet.theme
    rect, line = geometry.row_labels, sheet.fonts.height("small")
    if geometry.row_tokens:
        for row in range(int(geometry.window.row0), int(np.ceil(geometry.window.row1))):
            y = geometry.y_of(row + 0.5) - line / 2
            if rect.top() - line / 2 <= y <= rect.bottom() - line / 2 and row < len(scene.q_tokens):
                text = _label(sheet, scene.q_tokens[row], rect.width())
                colour = theme.text if row == scene.selection.row else theme.muted
                sheet.text(QRectF(rect.left(), y, rect.width(), line), text, colour, align=RIGHT)
        return
    every = tiles.block_q * geometry.cell_size[0] >= line
    for q_block in range(tiles.states.shape[0]) if every else [scene.snapshot.q_block]:
        middle = sum(tiles.rows_of(q_block)) / 2
        y = geometry.y_of(middle) - line / 2
        if rect.top() - line / 2 <= y <= rect.bottom() - line / 2:
            current = q_block == scene.snapshot.q_block
            room = QRectF(rect.left(), y, rect.width(), line)
            kind = "small_bold" if current else "small"
            sheet.text(room, str(q_block), theme.text if current else theme.muted, kind, RIGHT)


def _column_axis(sheet: Sheet, scene: Scene) -> None:
    geometry, tiles, theme = scene.geometry, scene.tiles, sheet.theme
    rect, line = geometry.column_labels, sheet.fonts.height("small")
    if geometry.column_tokens:
        for column in range(int(geometry.window.column0), int(np.ceil(geometry.window.column1))):
            x = geometry.x_of(column + 0.5) - line / 2
            if rect.left() - line / 2 <= x <= rect.right() - line / 2 and column < len(scene.kv_tokens):
                text = _label(sheet, scene.kv_tokens[column], rect.height())
                colour = theme.text if column == scene.selection.column else theme.muted
                sheet.upwards(QPointF(x, rect.bottom()), text, rect.height(), colour)
        return
    widest = sheet.fonts.width(str(tiles.states.shape[1]), "small_bold") + GAP
    every = tiles.block_kv * geometry.cell_size[1] >= widest
    for kv_block in range(tiles.states.shape[1]) if every else [scene.snapshot.kv_block]:
        x = geometry.x_of(sum(tiles.columns_of(kv_block)) / 2)
        if rect.left() <= x <= rect.right():
            current = kv_block == scene.snapshot.kv_block
            room = QRectF(x - widest / 2, rect.bottom() - line, widest, line)
            kind = "small_bold" if current else "small"
            sheet.text(room, str(kv_block), theme.text if current else theme.muted, kind, CENTRE)


def _label(sheet: Sheet, token: str, room: float) -> str:
    """A token, with an ellipsis where it is longer than an axis should be (the tip has it whole)."""
    token = visible(token)
    while len(token) > 1 and sheet.fonts.width(token) > room:
        token = token.rstrip("…")[:-1] + "…"
    return token


def draw_scales(
    sheet: Sheet, scene: Scene, matrix: Matrix | None, levels: StripLevels | None, extra: Sequence[str]
) -> None:
    """Colour bars with their fixed levels, and what the hatches mean."""
    rect, theme, line = scene.geometry.scales, sheet.theme, sheet.fonts.height("small")
    kinds = ["masked", "skipped", "to come", *extra]
    y, gap = rect.top(), 2 * GAP
    fixed = 2 * (line + GAP) + 2 * gap + 3 * line + GAP + len(kinds) * (max(line, SWATCH) + 2)
    bar = min(max((rect.height() - fixed) / 2, 2.2 * line), 9 * line)
    if matrix is not None:
        sheet.fitting(QRectF(rect.left(), y, rect.width(), line), scale_titles(matrix), theme.muted)
        y += line + GAP
        level_bar(sheet, QRectF(rect.left(), y, rect.width(), bar), matrix_levels(matrix))
        y += bar + gap
    if levels is not None:
        sheet.fitting(QRectF(rect.left(), y, rect.width(), line), ["Q, K, V, O", "strips"], theme.muted)
        y += line + GAP
        height = bar + 3 * line + GAP
        _strip_bar(sheet, QRectF(rect.left(), y, rect.width(), height), levels)
        y += height + gap
    swatch_list(sheet, QRectF(rect.left(), y, rect.width(), rect.bottom() - y), kinds)


def scale_titles(matrix: Matrix) -> list[str]:
    names = {
        "naive-scores": "S",
        "naive-probabilities": "P",
        "flash-probabilities": "P of flash",
        "difference": "P − P naive",
    }
    name = names[matrix.kind]
    return [f"{name}, log scale", f"{name}, log", name] if matrix.scale == "log" else [name]


def strip_lines(levels: StripLevels) -> list[str]:
    """What the ends of the strips' bar stand for."""
    names = ((levels.q, "Q"), (levels.k, "K"), (levels.v, "V, O"))
    return [f"{number_text(scale.high)} {name}" for scale, name in names]


def _strip_bar(sheet: Sheet, rect: QRectF, levels: StripLevels) -> None:
    """One bar for all strips, from -x to +x, and what x is for each of them."""
    line, lines = sheet.fonts.height("small"), strip_lines(levels)
    bar = QRectF(rect.left(), rect.top(), rect.width(), rect.height() - len(lines) * line - GAP)
    level_bar(sheet, bar, Levels(-1.0, 1.0, "diverging"), [(0.0, "−x"), (0.5, "0"), (1.0, "+x")])
    indent = sheet.fonts.width("x = ")
    sheet.text(QRectF(rect.left(), bar.bottom() + GAP, indent, line), "x = ", sheet.theme.muted)
    for index, text in enumerate(lines):
        room = QRectF(rect.left() + indent, bar.bottom() + GAP + index * line, rect.width() - indent, line)
        sheet.text(room, text, sheet.theme.muted)
