"""Icons that are drawn anew at the pixels of whatever they are painted on: a screen, or a picture at another scale."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Qt
from PySide6.QtGui import QColor, QPainter, QPaintEvent
from PySide6.QtWidgets import QStyle, QStyleOptionToolButton, QStylePainter, QToolButton, QWidget

from explorer.ui import icons
from explorer.ui.button_keys import keep_button_keys
from explorer.ui.theme import LIGHT, SPACING, Theme

ICON = 20
"""Logical pixels of an icon."""


class Icon(QWidget):
    """A picture beside a text."""

    def __init__(self, name: str, size: int, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._name, self._colour = name, LIGHT.text
        self.setFixedSize(size, size)

    def show_icon(self, name: str, colour: str) -> None:
        """Icon ``name`` in a colour '#rrggbb'."""
        if (name, colour) != (self._name, self._colour):
            self._name, self._colour = name, colour
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        icons.paint(painter, QRectF(self.rect()), self._name, self._colour)
        painter.end()


class IconButton(QToolButton):
    """Shows icon ``name``; ``inverse`` draws it in the colour for dark grounds of a light theme.

    It keeps Space and Return for itself while it has the focus, though they mean something else to the window.
    """

    def __init__(self, name: str, inverse: bool = False, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.name = name
        self._inverse = inverse
        self._theme = LIGHT
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setFixedSize(32, 32)
        keep_button_keys(self)

    def show_text(self, text: str) -> None:
        """A word beside the icon; the button takes the width of both."""
        self.setText(text)
        self.setFixedSize(ICON + 4 * SPACING + self.fontMetrics().horizontalAdvance(text), self.height())

    def show_icon(self, name: str) -> None:
        if name != self.name:
            self.name = name
            self.update()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        option = QStyleOptionToolButton()
        self.initStyleOption(option)
        option.text = ""  # type: ignore[attr-defined]
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ToolButton, option)
        left = SPACING if self.text() else (self.width() - ICON) / 2
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        icons.paint(painter, QRectF(left, (self.height() - ICON) / 2, ICON, ICON), self.name, self._colour())
        if self.text():
            painter.setPen(QColor(self._colour()))
            room = self.rect().adjusted(ICON + 2 * SPACING, 0, 0, 0)
            painter.drawText(room, Qt.AlignmentFlag.AlignVCenter, self.text())
        painter.end()

    def _colour(self) -> str:
        if not self.isEnabled():
            return icons.disabled_colour(self._theme)
        return self._theme.inverse if self._inverse else self._theme.text
