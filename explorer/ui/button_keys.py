"""Keys that press a button while it has the focus, though they mean something else to the window."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QAbstractButton, QToolButton

_PRESS = (Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Enter)
_ARROWS = (Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Up, Qt.Key.Key_Down)


class _ButtonKeys(QObject):
    """Claims Space and Return for a button, the arrows for one of a group, and Down for one that opens a menu."""

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isinstance(event, QKeyEvent) or not isinstance(watched, QAbstractButton) or event.modifiers():
            return False
        key, kind = event.key(), event.type()
        opens = isinstance(watched, QToolButton) and watched.menu() is not None and key == Qt.Key.Key_Down
        claimed = key in _PRESS or opens or (key in _ARROWS and watched.group() is not None)
        if kind == QEvent.Type.ShortcutOverride and claimed:
            event.accept()
            return True
        if kind == QEvent.Type.KeyPress and (opens or key in _PRESS[1:]):
            watched.click()
            return True
        return False


def keep_button_keys(*buttons: QAbstractButton) -> None:
    """Let these buttons be pressed by key wherever they are; the keys do nothing else while one has the focus."""
    for button in buttons:
        button.installEventFilter(_ButtonKeys(button))
