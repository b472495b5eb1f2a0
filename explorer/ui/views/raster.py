"""Arrays to pictures at the pixels of the screen: the nearest cell, or the maximum of several that share a pixel.

What is no number is marked as such: masked cells stay transparent (the hatch under the picture shows), NaN and the two
infinities get patterns of their own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QImage, QPainter

from explorer.ui.theme import Theme
from explorer.ui.views.levels import Levels
from explorer.ui.views.sheet import is_dark


@dataclass(frozen=True)
class Window:
    """A rectangle of cells on show, in cell units; ends may fall within a cell."""

    row0: float
    row1: float
    column0: float
    column1: float

    @property
    def rows(self) -> float:
        return self.row1 - self.row0

    @property
    def columns(self) -> float:
        return self.column1 - self.column0


def pool(values: np.ndarray, rows: int, columns: int, signed: bool) -> np.ndarray:
    """Reduce by whole factors: the maximum of each group, or of the largest magnitude where signed. NaN wins.

    Spikes stay visible, unlike with an average or a sample. (n, m) -> (ceil(n / rows), ceil(m / columns)).
    """
    return _pool_axis(_pool_axis(values, rows, 0, signed), columns, 1, signed)


def _pool_axis(values: np.ndarray, factor: int, axis: int, signed: bool) -> np.ndarray:
    if factor <= 1:
        return values
    moved = values if axis == 0 else values.T
    result = moved[::factor].copy()
    for offset in range(1, factor):
        part = moved[offset::factor]
        best = result[: len(part)]
        if signed:
            best[...] = np.where((np.abs(part) > np.abs(best)) | np.isnan(part), part, best)
        else:
            np.maximum(best, part, out=best)
    return result if axis == 0 else result.T


@dataclass(frozen=True)
class Sampled:
    """An array seen through a window: its (pooled) cells, and which of them lies at each row and column of pixels."""

    cells: np.ndarray
    rows: np.ndarray
    columns: np.ndarray

    def expanded(self, cells: np.ndarray | None = None) -> np.ndarray:
        """(height, width) pixels of these cells, or of others of the same shape."""
        return (self.cells if cells is None else cells)[self.rows][:, self.columns]


def sample(values: np.ndarray, window: Window, size: tuple[int, int], signed: bool = False) -> Sampled:
    """``values`` as seen through ``window`` at ``size`` (height, width) pixels; see ``pool`` for small cells."""
    height, width = size
    row_step = max(int(np.ceil(window.rows / max(height, 1) - 1e-9)), 1)
    column_step = max(int(np.ceil(window.columns / max(width, 1) - 1e-9)), 1)
    top, left = _floor_to(window.row0, row_step), _floor_to(window.column0, column_step)
    bottom, right = int(np.ceil(window.row1)), int(np.ceil(window.column1))
    pooled = pool(values[top:bottom, left:right], row_step, column_step, signed)
    return Sampled(
        pooled,
        _pixel_cells(window.row0 - top, window.rows, height, row_step, pooled.shape[0]),
        _pixel_cells(window.column0 - left, window.columns, width, column_step, pooled.shape[1]),
    )


def _floor_to(position: float, step: int) -> int:
    return max(int(position) // step * step, 0)


def _pixel_cells(start: float, length: float, pixels: int, step: int, cells: int) -> np.ndarray:
    """Index of the (pooled) cell at the middle of each pixel."""
    middles = start + (np.arange(pixels) + 0.5) * (length / max(pixels, 1))
    return np.clip((middles / step).astype(np.intp), 0, cells - 1)


@dataclass(frozen=True)
class Marks:
    """Colours, 0xAARRGGBB, of the patterns for what is no number."""

    ink: int
    ground: int
    dark: bool
    """Whether the pictures lie on a dark ground."""

    @classmethod
    def of(cls, theme: Theme) -> Marks:
        return cls(QColor(theme.inverse).rgba(), QColor(theme.text).rgba(), is_dark(theme.panel))


def paint_nonfinite(pixels: np.ndarray, values: np.ndarray, marks: Marks, ratio: float) -> None:
    """Mark NaN with crosses, +inf with upright and -inf with level lines, in place, at ``ratio`` pixels a point."""
    bad = ~np.isfinite(values)
    if not bad.any():
        return
    y, x = np.indices(values.shape, dtype=np.int32)
    period, stroke = max(round(5 * ratio), 3), max(round(ratio), 1)
    patterns: tuple[tuple[Any, Any], ...] = (
        (np.isnan(values), ((x + y) % period < stroke) | ((x - y) % period < stroke)),
        (values == np.inf, x % period < stroke),
        (values == -np.inf, y % period < stroke),
    )
    for where, lines in patterns:
        pixels[where] = np.where(lines[where], np.uint32(marks.ink), np.uint32(marks.ground))


def picture(sampled: Sampled, levels: Levels, marks: Marks, ratio: float, hidden: np.ndarray | None = None) -> QImage:
    """Image of sampled values; ``hidden`` cells (like ``sampled.cells``) are transparent."""
    cells = sampled.cells
    bad = ~np.isfinite(cells)
    if hidden is not None:
        bad &= ~hidden
    # colours are looked up once a cell, not once a pixel
    colours = levels.colours(cells, marks.dark)
    if hidden is not None:
        colours[hidden] = 0
    pixels = sampled.expanded(colours)
    if bad.any():
        paint_nonfinite(pixels, np.where(sampled.expanded(bad), sampled.expanded(), 0.0), marks, ratio)
    return to_image(pixels)


def nonfinite_kinds(sampled: Sampled, hidden: np.ndarray) -> list[str]:
    """Which of 'nan', '+inf', '-inf' are among the cells that show."""
    cells = sampled.cells[~hidden & ~np.isfinite(sampled.cells)]
    found = {"nan": np.isnan(cells), "+inf": np.isposinf(cells), "-inf": np.isneginf(cells)}
    return [kind for kind, where in found.items() if np.any(where)]


def to_image(pixels: np.ndarray) -> QImage:
    """uint32 (height, width) of premultiplied 0xAARRGGBB to an image that owns its memory."""
    pixels = np.ascontiguousarray(pixels, dtype=np.uint32)
    height, width = pixels.shape
    return QImage(pixels.data, width, height, 4 * width, QImage.Format.Format_ARGB32_Premultiplied).copy()


def draw_image(painter: QPainter, target: QRectF, image: QImage) -> None:
    """Without smoothing: a cell keeps hard edges and its own colour."""
    painter.setRenderHint(QPainter.RenderHint.SmoothPixmapTransform, False)
    painter.drawImage(target, image, QRectF(image.rect()))


def pixel_size(rect: QRectF, ratio: float) -> tuple[int, int]:
    """(height, width) in device pixels."""
    return max(round(rect.height() * ratio), 1), max(round(rect.width() * ratio), 1)
