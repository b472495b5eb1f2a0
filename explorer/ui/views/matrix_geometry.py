"""Where the parts of the flash picture lie: matrix, strips around it, columns and scales at its right. No painting."""

from __future__ import annotations

from dataclasses import dataclass, replace

from PySide6.QtCore import QPointF, QRectF

from explorer.ui.views.raster import Window

GAP = 4.0
SMALLEST_WINDOW = 4.0
"""Cells along an axis below which zooming in stops."""


@dataclass(frozen=True)
class Geometry:
    """Rectangles in logical pixels, snapped to whole ones, and the window of tokens that the matrix shows."""

    matrix: QRectF
    q: QRectF
    k: QRectF
    v: QRectF
    output: QRectF
    error: QRectF
    row_labels: QRectF
    column_labels: QRectF
    headings: QRectF
    scales: QRectF
    window: Window
    row_tokens: bool = False
    """Whether there is room for the names of the tokens beside their rows; tile numbers otherwise."""
    column_tokens: bool = False

    def x_of(self, column: float) -> float:
        return self.matrix.left() + (column - self.window.column0) * self.matrix.width() / self.window.columns

    def y_of(self, row: float) -> float:
        return self.matrix.top() + (row - self.window.row0) * self.matrix.height() / self.window.rows

    def cell_at(self, point: QPointF) -> tuple[float, float]:
        """(row, column) in tokens under a point, also outside the matrix."""
        row = self.window.row0 + (point.y() - self.matrix.top()) * self.window.rows / self.matrix.height()
        column = self.window.column0 + (point.x() - self.matrix.left()) * self.window.columns / self.matrix.width()
        return row, column

    def cells(self, rows: tuple[float, float], columns: tuple[float, float]) -> QRectF:
        """Rectangle of a range of cells, cut to the matrix; empty where none of it shows."""
        left, right = (min(max(self.x_of(c), self.matrix.left()), self.matrix.right()) for c in columns)
        top, bottom = (min(max(self.y_of(r), self.matrix.top()), self.matrix.bottom()) for r in rows)
        return QRectF(left, top, right - left, bottom - top)

    @property
    def cell_size(self) -> tuple[float, float]:
        """(height, width) of one cell in logical pixels."""
        return self.matrix.height() / self.window.rows, self.matrix.width() / self.window.columns


@dataclass(frozen=True)
class Sizes:
    """What the texts need: heights and widths in logical pixels, from the widget's fonts."""

    line: float
    row_label: float
    column_label: float
    scale: float
    error: float
    output: float


def arrange(area: QRectF, window: Window, sizes: Sizes) -> Geometry:
    """Fit the picture into ``area``: cells square where the lengths allow it, everything centred."""
    strip = max(min(round(area.height() * 0.1), 52), 20)
    above = sizes.column_label + GAP + strip + GAP
    below = GAP + strip
    left = sizes.row_label + GAP + strip + GAP
    output_width = max(strip, sizes.output)
    right = 2 * GAP + output_width + 2 * GAP + sizes.error + 3 * GAP + sizes.scale
    room_w = max(area.width() - left - right, 24.0)
    room_h = max(area.height() - above - below, 24.0)
    width, height = _matrix_size(room_w, room_h, window)
    x = round(area.left() + left + (room_w - width) / 2)
    y = round(area.top() + above + (room_h - height) / 2)
    matrix = QRectF(x, y, width, height)
    output = QRectF(matrix.right() + 2 * GAP, y, output_width, height)
    error = QRectF(output.right() + 2 * GAP, y, sizes.error, height)
    q = QRectF(x - GAP - strip, y, strip, height)
    k = QRectF(x, y - GAP - strip, width, strip)
    return Geometry(
        matrix=matrix,
        q=q,
        k=k,
        v=QRectF(x, matrix.bottom() + GAP, width, strip),
        output=output,
        error=error,
        row_labels=QRectF(q.left() - GAP - sizes.row_label, y, sizes.row_label, height),
        column_labels=QRectF(x, k.top() - GAP - sizes.column_label, width, sizes.column_label),
        headings=QRectF(output.left(), y - sizes.line - GAP, error.right() - output.left(), sizes.line),
        scales=QRectF(error.right() + 3 * GAP, area.top(), sizes.scale, area.height()),
        window=window,
    )


def _matrix_size(room_w: float, room_h: float, window: Window) -> tuple[float, float]:
    """Square cells where that leaves neither side small; a long decode row is stretched instead."""
    aspect = min(max(window.columns / window.rows, 0.5), max(room_w / room_h, 1.0))
    width = min(room_w, room_h * aspect)
    return float(int(width)), float(int(min(room_h, width / aspect)))


def whole(q_len: int, kv_len: int) -> Window:
    return Window(0.0, float(q_len), 0.0, float(kv_len))


def zoomed(window: Window, factor: float, row: float, column: float, q_len: int, kv_len: int) -> Window:
    """Show ``factor`` times fewer cells, keeping the given cell under the pointer, within the matrix."""
    rows = min(max(window.rows / factor, min(SMALLEST_WINDOW, q_len)), q_len)
    columns = min(max(window.columns / factor, min(SMALLEST_WINDOW, kv_len)), kv_len)
    row0 = row - (row - window.row0) * rows / window.rows
    column0 = column - (column - window.column0) * columns / window.columns
    return within(Window(row0, row0 + rows, column0, column0 + columns), q_len, kv_len)


def panned(window: Window, rows: float, columns: float, q_len: int, kv_len: int) -> Window:
    moved = replace(
        window,
        row0=window.row0 + rows,
        row1=window.row1 + rows,
        column0=window.column0 + columns,
        column1=window.column1 + columns,
    )
    return within(moved, q_len, kv_len)


def within(window: Window, q_len: int, kv_len: int) -> Window:
    """Shift a window so that it shows nothing beyond the matrix."""
    row0 = min(max(window.row0, 0.0), q_len - window.rows)
    column0 = min(max(window.column0, 0.0), kv_len - window.columns)
    return Window(row0, row0 + window.rows, column0, column0 + window.columns)


def showing(window: Window, row: int, column: int, q_len: int, kv_len: int) -> Window:
    """Pan just enough that a cell is on show."""
    down = min(row - window.row0, 0.0) + max(row + 1 - window.row1, 0.0)
    across = min(column - window.column0, 0.0) + max(column + 1 - window.column1, 0.0)
    return panned(window, down, across, q_len, kv_len)
