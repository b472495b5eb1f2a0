"""What all views of the Step page share: a snapshot in, a painting and a sentence out, intents as signals."""

from __future__ import annotations

import html
from typing import ClassVar

from PySide6.QtCore import QEvent, QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QToolTip, QWidget

from explorer.session.state import StepState
from explorer.ui.theme import LIGHT, SPACING, Theme
from explorer.ui.views.sheet import Fonts, PlacedText, Sheet

_COMPARED_BY_VALUE = frozenset({"cursor", "selection", "matrix_kind", "message"})
"""Small values; the other parts of a state hold arrays and are compared by identity."""


class View(QWidget):
    """A part of the Step page. Subclasses say which parts of the state they show, and have ``draw`` and ``words``."""

    step_requested = Signal(int)
    row_selected = Signal(int)
    cell_selected = Signal(int, int)
    matrix_kind_chosen = Signal(str)
    stage_selected = Signal(int)

    watches: ClassVar[tuple[str, ...]] = ("configured", "snapshot", "cursor", "selection")
    name: ClassVar[str] = ""
    smallest: ClassVar[tuple[int, int]] = (120, 80)
    preferred: ClassVar[tuple[int, int]] = (320, 240)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.state = StepState()
        self.theme = LIGHT
        self.fonts = Fonts(self.font())
        self.setAccessibleName(self.name)
        self.setMinimumSize(*self.smallest)

    def show_state(self, state: StepState) -> None:
        """Show a snapshot; does nothing where none of the parts this view shows has changed."""
        before, self.state = self.state, state
        changed = frozenset(part for part in self.watches if _differs(part, before, state))
        if changed:
            self.changed(changed)
            self.setAccessibleDescription(self.sentence())
            self.update()

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self.restyle()
        self.update()

    def sentence(self) -> str:
        """One or two plain sentences of what the view shows now."""
        return self.empty_text() or self.words()

    def draw_on(
        self, painter: QPainter, size: QSize | None = None, ratio: float = 1.0, on_screen: bool = False
    ) -> list[PlacedText]:
        """Paint the view, for the screen or an export; returns the texts as they were placed."""
        area = QRectF(0, 0, (size or self.size()).width(), (size or self.size()).height())
        sheet = Sheet(painter, self.theme, self.fonts, ratio, on_screen)
        sheet.fill(area, self.theme.panel)
        empty = self.empty_text()
        if empty:
            self._draw_empty(sheet, area, empty)
        else:
            self.draw(sheet, area)
        return sheet.placed

    # ------------------------------------------------------------ for subclasses

    def draw(self, sheet: Sheet, area: QRectF) -> None:
        """Paint what there is to show in ``area`` (logical pixels)."""
        raise NotImplementedError

    def words(self) -> str:
        """``sentence`` where there is something to show."""
        raise NotImplementedError

    def changed(self, parts: frozenset[str]) -> None:
        """Drop what was derived from these parts of the state."""

    def restyle(self) -> None:
        """Drop what was painted in an older theme or font."""

    def tip_at(self, position: QPointF) -> str:
        """Text that explains the thing under the pointer; '' for none."""
        return ""

    def empty_text(self) -> str:
        """Why there is nothing to show, in one line; '' where there is something."""
        configured = self.state.configured
        if configured is None:
            return "Waiting for a kernel to be captured."
        if not configured.driven:
            return configured.reason_not_driven or f"{configured.kernel_title} has no grid steps to drive."
        snapshot = self.state.snapshot
        # the snapshot of the kernel before may still be there while the first of this one is on its way
        if snapshot is None or len(snapshot.output) != configured.problem.q_len or snapshot.step >= configured.steps:
            return "Waiting for the first grid step."
        return ""

    # ------------------------------------------------------------ Qt

    def sizeHint(self) -> QSize:
        return QSize(*self.preferred)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        self.draw_on(painter, ratio=self.devicePixelRatioF(), on_screen=True)
        if self.hasFocus() and self.focusPolicy() != Qt.FocusPolicy.NoFocus:
            ring = QRectF(self.rect())
            Sheet(painter, self.theme, self.fonts).box(ring, self.theme.focus, width=2, radius=SPACING)
        painter.end()

    def changeEvent(self, event: QEvent) -> None:
        if event.type() == QEvent.Type.FontChange:
            self.fonts = Fonts(self.font())
            self.restyle()
            self.update()
        super().changeEvent(event)

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            text = "" if self.empty_text() else self.tip_at(QPointF(event.pos()))
            if text:
                QToolTip.showText(event.globalPos(), _as_plain(text), self)
            else:
                QToolTip.hideText()
            return True
        return super().event(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def _draw_empty(self, sheet: Sheet, area: QRectF, text: str) -> None:
        room = area.adjusted(4 * SPACING, SPACING, -4 * SPACING, -SPACING)
        height = self.fonts.wrapped_height(text, room.width(), "normal")
        top = max(room.top(), room.center().y() - height / 2)
        sheet.wrapped(
            QRectF(room.left(), top, room.width(), room.bottom() - top), text, self.theme.muted, "normal", True
        )


def _as_plain(text: str) -> str:
    """Tips are plain: Qt would take a token such as '<s>' for markup."""
    return f"<p style='white-space:pre'>{html.escape(text)}</p>"


def _differs(part: str, before: StepState, after: StepState) -> bool:
    old, new = getattr(before, part), getattr(after, part)
    return old != new if part in _COMPARED_BY_VALUE else old is not new
