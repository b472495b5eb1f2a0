"""A tool button whose icon is drawn anew at the pixels of whatever it is painted on: a screen or a picture."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QStyle, QStyleOptionToolButton, QStylePainter, QToolButton, QWidget

from explorer.ui import icons
from explorer.ui.theme import LIGHT, Theme

ICON = 20
"""Logical pixels of an icon."""


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
        painter = QStylePainter(self)
        painter.drawComplexControl(QStyle.ComplexControl.CC_ToolButton, option)
        area = QRectF((self.width() - ICON) / 2, (self.height() - ICON) / 2, ICON, ICON)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        icons.paint(painter, area, self.name, self._colour())
        painter.end()

    def event(self, event: QEvent) -> bool:
        if (
            event.type() == QEvent.Type.ShortcutOverride
            and isinstance(event, QKeyEvent)
            and event.key() in (Qt.Key.Key_Space, Qt.Key.Key_Return)
        ):
            event.accept()
            return True
        return super().event(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Return:
            self.click()
        else:
            super().keyPressEvent(event)

    def _colour(self) -> str:
        if not self.isEnabled():
            return icons.disabled_colour(self._theme)
        return self._theme.inverse if self._inverse else self._theme.text
