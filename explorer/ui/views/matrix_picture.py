"""The pixels of the matrix and of the strips around it: cached pictures that the overlay is drawn over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QImage

from explorer.link.messages import Matrix, Strips
from explorer.ui.views.legend import hatch, hatch_brush
from explorer.ui.views.levels import Levels, symmetric_levels
from explorer.ui.views.matrix_geometry import Geometry
from explorer.ui.views.raster import Marks, Window, draw_image, nonfinite_kinds, picture, pixel_size, sample
from explorer.ui.views.sheet import Sheet
from explorer.ui.views.shown import TO_COME, ShownOutput
from explorer.ui.views.tiles import TileMap, runs

SMALLEST_TILE = 4.0
"""Logical pixels below which the lines between tiles would hide the tiles."""


@dataclass(frozen=True)
class StripLevels:
    """Fixed levels of the strips. The output shares those of V: it is a weighted mean of its rows."""

    q: Levels
    k: Levels
    v: Levels

    @classmethod
    def of(cls, strips: Strips) -> StripLevels:
        return cls(symmetric_levels(strips.q), symmetric_levels(strips.k), symmetric_levels(strips.v))


def matrix_levels(matrix: Matrix) -> Levels:
    return Levels(matrix.low, matrix.high, matrix.scale)


def pooled_window(window: Window, factor: int) -> Window:
    """A window in tokens as one in cells of ``factor`` tokens."""
    return Window(window.row0 / factor, window.row1 / factor, window.column0 / factor, window.column1 / factor)


@dataclass(frozen=True)
class MatrixPicture:
    """The picture of a matrix, and the kinds of marks for what is no number in it."""

    image: QImage
    kinds: list[str]


def matrix_image(
    matrix: Matrix, geometry: Geometry, tiles: TileMap, known: np.ndarray | None, marks: Marks, ratio: float
) -> MatrixPicture:
    """Cells of the window at device pixels; masked and unknown ones are transparent."""
    size = pixel_size(geometry.matrix, ratio)
    window = pooled_window(geometry.window, matrix.pool)
    signed = matrix.scale == "diverging"
    there = matrix.allowed if known is None else matrix.allowed & per_cell(known, tiles, matrix)
    # cells that do not show must not win where several share a pixel
    values = np.where(there, matrix.values, np.float32(0.0 if signed else -np.inf))
    sampled = sample(values, window, size, signed)
    hidden = ~sample(there, window, size).cells
    return MatrixPicture(
        picture(sampled, matrix_levels(matrix), marks, ratio, hidden), nonfinite_kinds(sampled, hidden)
    )


def per_cell(tile_values: np.ndarray, tiles: TileMap, matrix: Matrix) -> np.ndarray:
    """A value for each tile at each (pooled) cell; a pooled cell over a border takes that of its first token."""
    q_blocks = np.arange(matrix.values.shape[0]) * matrix.pool // tiles.block_q
    kv_blocks = np.arange(matrix.values.shape[1]) * matrix.pool // tiles.block_kv
    return tile_values[q_blocks][:, kv_blocks]


def strip_image(values: np.ndarray, levels: Levels, window: Window, rect: QRectF, marks: Marks, ratio: float) -> QImage:
    """Rows of ``window`` (all columns) of a (length, head_dim) array, upright."""
    return picture(sample(values, window, pixel_size(rect, ratio), signed=True), levels, marks, ratio)


def row_window(geometry: Geometry, head_dim: int) -> Window:
    return Window(geometry.window.row0, geometry.window.row1, 0.0, float(head_dim))


def column_window(geometry: Geometry, head_dim: int) -> Window:
    """For K and V, which lie on their side: features down, keys across."""
    return Window(0.0, float(head_dim), geometry.window.column0, geometry.window.column1)


def output_image(shown: ShownOutput, levels: Levels, geometry: Geometry, marks: Marks, ratio: float) -> QImage:
    """Output so far; rows to come are transparent."""
    size = pixel_size(geometry.output, ratio)
    hidden_rows = shown.done == TO_COME
    values = np.where(hidden_rows[:, None], 0.0, shown.values)
    window = row_window(geometry, values.shape[1])
    sampled = sample(values, window, size, signed=True)
    rows = sample(~hidden_rows[:, None], Window(window.row0, window.row1, 0.0, 1.0), (size[0], 1)).cells
    return picture(sampled, levels, marks, ratio, np.broadcast_to(~rows, sampled.cells.shape))


def draw_ground(sheet: Sheet, geometry: Geometry, tiles: TileMap) -> None:
    """What lies under the values: the hatch of masked cells, and the denser one of skipped tiles."""
    sheet.fill(geometry.matrix, sheet.theme.panel)
    sheet.painter.fillRect(geometry.matrix, hatch_brush(sheet, dense=False))
    rows, columns = tiles.edges()
    for top, bottom, left, right in runs(tiles.states == 0):
        rect = geometry.cells((rows[top], rows[bottom]), (columns[left], columns[right]))
        if rect.width() > 0 and rect.height() > 0:
            sheet.fill(rect, sheet.theme.panel)
            hatch(sheet, rect, dense=True)


def draw_unknown(sheet: Sheet, geometry: Geometry, tiles: TileMap, known: np.ndarray) -> None:
    """A plain ground for tiles that flash has not computed yet: nothing is known there."""
    rows, columns = tiles.edges()
    for top, bottom, left, right in runs(~known & (tiles.states != 0)):
        sheet.fill(geometry.cells((rows[top], rows[bottom]), (columns[left], columns[right])), sheet.theme.faint)


def draw_grid(sheet: Sheet, geometry: Geometry, tiles: TileMap) -> None:
    """Lines between tiles, through the matrix and the strips that they cut."""
    rows, columns = tiles.edges()
    height, width = geometry.cell_size
    painter = sheet.painter
    painter.setPen(QColor(sheet.theme.panel))
    if tiles.block_kv * width >= SMALLEST_TILE:
        for column in columns[1:-1]:
            x = round(geometry.x_of(float(column)))
            if geometry.matrix.left() < x < geometry.matrix.right():
                for rect in (geometry.k, geometry.matrix, geometry.v):
                    painter.drawLine(QPointF(x, rect.top()), QPointF(x, rect.bottom() - 1))
    if tiles.block_q * height >= SMALLEST_TILE:
        for row in rows[1:-1]:
            y = round(geometry.y_of(float(row)))
            if geometry.matrix.top() < y < geometry.matrix.bottom():
                for rect in (geometry.q, geometry.matrix):
                    painter.drawLine(QPointF(rect.left(), y), QPointF(rect.right() - 1, y))


def draw_strip(
    sheet: Sheet, geometry: Geometry, name: Literal["q", "k", "v"], strips: Strips, levels: StripLevels
) -> None:
    """One of the strips around the matrix: Q upright at its left, K and V lying above and below."""
    values, rect = getattr(strips, name), getattr(geometry, name)
    upright = name == "q"
    window = (row_window if upright else column_window)(geometry, values.shape[1])
    scale: Levels = getattr(levels, name)
    image = strip_image(values if upright else values.T, scale, window, rect, Marks.of(sheet.theme), sheet.ratio)
    draw_image(sheet.painter, rect, image)
