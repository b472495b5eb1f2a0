"""The matrix view with the user's hand in it: selecting, going to a tile's step, zooming and panning."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QApplication, QWidget

from explorer.ui.views import matrix_geometry as plan
from explorer.ui.views.matrix_canvas import MatrixCanvas
from explorer.ui.views.matrix_words import Cell, cell_tip, token_name
from explorer.ui.views.tiles import NO_STEP

ZOOM_STEP = 1.25
_ARROWS = {
    Qt.Key.Key_Left: (0, -1), Qt.Key.Key_Right: (0, 1), Qt.Key.Key_Up: (-1, 0), Qt.Key.Key_Down: (1, 0),
}  # fmt: skip


class MatrixView(MatrixCanvas):
    """Click selects a cell; Ctrl-click, double-click or Return goes to the step of its tile; the wheel, + and - zoom,
    0 fits, dragging pans; arrows move the selection.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._pressed: QPointF | None = None
        self._pressed_window = plan.whole(1, 1)
        self._dragging = False

    # ------------------------------------------------------------ what is where

    @property
    def plan(self) -> plan.Geometry:
        return self.geometry_in(QRectF(self.rect()))

    def cell_at(self, point: QPointF) -> Cell | None:
        """Cell of the matrix under a point of the widget."""
        geometry = self.plan
        if not geometry.matrix.contains(point):
            return None
        row, column = geometry.cell_at(point)
        return self._cell(row, column)

    def row_at(self, point: QPointF) -> int | None:
        """Query row under a point in the parts beside the matrix that have rows."""
        geometry = self.plan
        parts = (geometry.row_labels, geometry.q, geometry.output, geometry.error)
        if not any(part.contains(point) for part in parts):
            return None
        return self._cell(geometry.cell_at(point)[0], 0).row

    def column_at(self, point: QPointF) -> int | None:
        """Key under a point in the parts above and below the matrix."""
        geometry = self.plan
        if not any(part.contains(point) for part in (geometry.column_labels, geometry.k, geometry.v)):
            return None
        return self._cell(0, geometry.cell_at(point)[1]).column

    def _cell(self, row: float, column: float) -> Cell:
        rows, columns = self._lengths
        return Cell(min(max(int(row), 0), rows - 1), min(max(int(column), 0), columns - 1))

    def tip_at(self, position: QPointF) -> str:
        cell = self.cell_at(position)
        if cell is not None:
            return cell_tip(self.state, self.tiles, cell, self.matrix)
        row, column = self.row_at(position), self.column_at(position)
        inputs = self.state.inputs
        if row is not None:
            return f"query row {token_name(inputs.q_tokens if inputs else (), row)}"
        if column is not None:
            return f"key {token_name(inputs.kv_tokens if inputs else (), column)}"
        return ""

    # ------------------------------------------------------------ intents

    def _go_to(self, cell: Cell) -> None:
        step = self.tiles.step_of(cell.row, cell.column)
        if step != NO_STEP:
            self.step_requested.emit(step)

    def _click(self, point: QPointF, goes: bool) -> None:
        cell = self.cell_at(point)
        if cell is not None:
            if goes:
                self._go_to(cell)
            else:
                self.cell_selected.emit(cell.row, cell.column)
            return
        row, column = self.row_at(point), self.column_at(point)
        if row is not None:
            self.row_selected.emit(row)
        elif column is not None:
            self.cell_selected.emit(self._current().row, column)

    def _current(self) -> Cell:
        """The selection, or where the step stands."""
        selection, snapshot = self.state.selection, self.state.snapshot
        assert snapshot is not None
        row = snapshot.q_range[0] if selection.row is None else selection.row
        column = snapshot.kv_range[0] if selection.column is None else selection.column
        return self._cell(row, column)

    def zoom(self, factor: float, at: QPointF | None = None) -> None:
        """Zoom about a point of the widget, or about the selection (or the current tile)."""
        geometry = self.plan
        current = self._current()
        row, column = geometry.cell_at(at) if at is not None else (current.row + 0.5, current.column + 0.5)
        window = plan.zoomed(geometry.window, factor, row, column, *self._lengths)
        self.shown_window = None if window == plan.whole(*self._lengths) else window
        self.update()

    def fit(self) -> None:
        self.shown_window = None
        self.update()

    def reveal(self, row: int, column: int) -> None:
        """Pan, where zoomed in, so that a cell is on show."""
        if self.shown_window is not None:
            self.shown_window = plan.showing(self.shown_window, row, column, *self._lengths)
            self.update()

    # ------------------------------------------------------------ Qt

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        width = min(self.kinds.full_width(), self.width() - 4)
        self.kinds.setGeometry(2, 0, width, self.kinds.sizeHint().height())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and not self.empty_text():
            self._pressed, self._pressed_window, self._dragging = event.position(), self.plan.window, False

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._pressed is None or self.shown_window is None:
            return
        moved = event.position() - self._pressed
        if self._dragging or moved.manhattanLength() >= QApplication.startDragDistance():
            self._dragging = True
            height, width = self.plan.cell_size
            self.shown_window = plan.panned(
                self._pressed_window, -moved.y() / height, -moved.x() / width, *self._lengths
            )
            self.update()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and self._pressed is not None:
            if not self._dragging:
                self._click(event.position(), bool(event.modifiers() & Qt.KeyboardModifier.ControlModifier))
            self._pressed = None

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton and not self.empty_text():
            cell = self.cell_at(event.position())
            if cell is not None:
                self._go_to(cell)

    def wheelEvent(self, event: QWheelEvent) -> None:
        if self.empty_text() or not event.angleDelta().y():
            event.ignore()
            return
        self.zoom(ZOOM_STEP ** (event.angleDelta().y() / 120), event.position())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key = Qt.Key(event.key())
        # Ctrl and Alt combinations belong to the window; a plain + needs Shift on many keyboards
        held = event.modifiers() & (Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.AltModifier)
        if self.empty_text() or held or not self._key(key):
            super().keyPressEvent(event)

    def _key(self, key: Qt.Key) -> bool:
        if key in _ARROWS:
            current, (down, across) = self._current(), _ARROWS[key]
            nothing = self.state.selection.row is None and self.state.selection.column is None
            cell = current if nothing else self._cell(current.row + down, current.column + across)
            self.reveal(cell.row, cell.column)
            self.cell_selected.emit(cell.row, cell.column)
        elif key in (Qt.Key.Key_Plus, Qt.Key.Key_Equal):
            self.zoom(ZOOM_STEP)
        elif key == Qt.Key.Key_Minus:
            self.zoom(1 / ZOOM_STEP)
        elif key == Qt.Key.Key_0:
            self.fit()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self._go_to(self._current())
        else:
            return False
        return True
