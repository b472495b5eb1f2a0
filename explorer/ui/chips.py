"""The small controls of the settings: a name and a value, as a menu or as a field to type in."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

from PySide6.QtCore import QEvent, QObject, QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QColor, QFontMetrics, QKeyEvent, QKeySequence, QPainter, QPaintEvent, QPen, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QMenu, QSizePolicy, QToolButton, QWidget

from explorer.ui import icons, style
from explorer.ui.button_keys import keep_button_keys
from explorer.ui.theme import LIGHT, Theme

HEIGHT = 28
TYPING_PAUSE_MS = 300
"""Long enough that a number of several digits is typed before it takes effect."""
_PAD, _GAP, _ARROW = 8, 4, 12
_LEAST_ELASTIC = 144
"""Logical pixels that are left of an elastic chip in the narrowest window."""
LEAST_UNNAMED = 88
"""Width at least of fields that stand in a column, with their names beside them."""
_MOST_CHARACTERS = 24
"""Of a number that is typed."""
_SUBMENU_FROM = 9
"""A group of so many choices or more opens as a menu of its own."""


@dataclass(frozen=True)
class Choice:
    """``refusal``: why it cannot be chosen now; '' where it can. ``group``: a heading over its first entry."""

    value: Any
    text: str
    refusal: str = ""
    group: str = ""


class MenuChip(QToolButton):
    """'kernel flash ▾': opens a menu of choices. Drawn by itself, since name and value differ in weight.

    An ``elastic`` one gives way where the row is narrow: its value is then elided in the middle, whole in the tooltip.
    """

    chosen = Signal(object)

    def __init__(
        self,
        name: str,
        choices: Callable[[], Sequence[Choice]],
        elastic: bool = False,
        key: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("chip")
        self._elastic, self._key = elastic, key
        self.name, self.value, self._theme = name, "", LIGHT
        self._choices = choices
        self._current: Any = None
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        menu = QMenu(self)
        menu.setToolTipsVisible(True)
        menu.aboutToShow.connect(self._fill)
        self.setMenu(menu)
        keep_button_keys(self)
        if key:
            QShortcut(QKeySequence(key), self, self.showMenu)

    def show_value(self, current: Any, text: str, tip: str = "") -> None:
        """The value in force, in words; ``tip`` explains it."""
        self._current = current
        self.setToolTip(_with_key(tip or f"{self.name}: {text}", self._key))
        if text != self.value:
            self.value = text
            self.setAccessibleName(f"{self.name} {text}")
            self.updateGeometry()
            self.update()

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(self._name_width() + self._bold().horizontalAdvance(self.value) + 2 * _PAD + _GAP + _ARROW, HEIGHT)

    def minimumSizeHint(self) -> QSize:
        whole = self.sizeHint()
        return QSize(min(whole.width(), _LEAST_ELASTIC), HEIGHT) if self._elastic else whole

    def _bold(self) -> QFontMetrics:
        return QFontMetrics(style.ui_font(bold=True))

    def _name_width(self) -> int:
        return QFontMetrics(style.ui_font()).horizontalAdvance(self.name) + _GAP if self.name else 0

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        theme, focused = self._theme, self.hasFocus()
        painter.setPen(QPen(QColor(theme.focus if focused else theme.border), 2 if focused else 1))
        painter.setBrush(QColor(theme.faint if self.underMouse() else theme.panel))
        inset = 1.0 if focused else 0.5
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(inset, inset, -inset, -inset), 4, 4)
        area = self.rect().adjusted(_PAD, 0, -_PAD - _ARROW - _GAP, 0)
        painter.setFont(style.ui_font())
        painter.setPen(QColor(theme.muted))
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, self.name)
        area.setLeft(area.left() + self._name_width())
        painter.setFont(style.ui_font(bold=True))
        painter.setPen(QColor(theme.text))
        text = self._bold().elidedText(self.value, Qt.TextElideMode.ElideMiddle, area.width() + 1)
        painter.drawText(area, Qt.AlignmentFlag.AlignVCenter, text)
        arrow = QRectF(self.width() - _PAD - _ARROW, (self.height() - _ARROW) / 2, _ARROW, _ARROW)
        icons.paint(painter, arrow, "down", theme.muted)
        painter.end()

    def _fill(self) -> None:
        menu = self.menu()
        menu.clear()
        for group, members in groupby(self._choices(), lambda choice: choice.group):
            choices = list(members)
            target = menu
            if group and len(choices) >= _SUBMENU_FROM:
                target = menu.addMenu(group)
                target.setToolTipsVisible(True)
            elif group:
                menu.addAction(group).setEnabled(False)
            self._add(target, choices)

    def _add(self, menu: QMenu, choices: Sequence[Choice]) -> None:
        for choice in choices:
            action = menu.addAction(choice.text.replace("&", "&&"))
            action.setCheckable(True)
            action.setChecked(choice.value == self._current)
            action.setEnabled(not choice.refusal)
            action.setToolTip(choice.refusal or choice.text)
            action.triggered.connect(lambda _=False, value=choice.value: self.chosen.emit(value))


class FieldChip(QFrame):
    """A name and a line to type in. A pause in typing, Return or leaving the field hands the value over.

    ``read`` turns text into a value and raises ValueError with one line for what cannot be one. Up and Down go through
    ``steps`` where there are any.
    """

    changed = Signal(object)
    invalid = Signal(str)

    def __init__(
        self,
        name: str,
        read: Callable[[str], Any],
        tip: str,
        steps: Sequence[int] = (),
        key: str = "",
        parent: QWidget | None = None,
    ) -> None:
        super().__init__(parent)
        self.setObjectName("field")
        self.name, self._read, self._steps = name, read, tuple(steps)
        self._named = bool(name)
        self.edit = QLineEdit()
        self.edit.setAccessibleName(name)
        self.edit.setMaxLength(_MOST_CHARACTERS)
        self.edit.setToolTip(_with_key(tip, key))
        self.edit.installEventFilter(self)
        self._note = QLabel()
        self._lay_out()
        if key:
            QShortcut(QKeySequence(key), self, self._take_focus)
        self._pause = QTimer(self)
        self._pause.setSingleShot(True)
        self._pause.setInterval(TYPING_PAUSE_MS)
        self._pause.timeout.connect(self._hand_over)
        self._shown = ""
        self.edit.textEdited.connect(lambda _: self._pause.start())
        self.edit.textChanged.connect(lambda _: self._fit())
        self.edit.editingFinished.connect(self._finish)
        self._fit()

    def _lay_out(self) -> None:
        label = QLabel(self.name)
        label.setBuddy(self.edit)
        for part in (label, self._note):
            part.setObjectName("label")
        layout = QHBoxLayout(self)
        layout.setContentsMargins(_PAD, 0, _PAD, 0)
        layout.setSpacing(_GAP)
        for widget in (label, self.edit, self._note):
            layout.addWidget(widget)
        label.setVisible(self._named)
        self._note.hide()
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)

    def show_value(self, text: str, placeholder: str = "", note: str = "") -> None:
        """The value asked for; text that is being typed is left alone. ``note`` says what became of it."""
        self._note.setText(note)
        self._note.setVisible(bool(note))
        if self.edit.placeholderText() != placeholder:
            self.edit.setPlaceholderText(placeholder)
            self._fit()
        if text != self._shown and not self._pause.isActive():
            self._shown = text
            self.edit.setText(text)
            self._mark(bad=False)

    def _take_focus(self) -> None:
        self.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.edit.selectAll()

    def _fit(self) -> None:
        text = self.edit.text() or self.edit.placeholderText()
        least = 24 if self._named else LEAST_UNNAMED - 2 * _PAD
        self.edit.setFixedWidth(max(least, QFontMetrics(style.ui_font(bold=True)).horizontalAdvance(text) + 12))

    def _finish(self) -> None:
        if self.edit.text() != self._shown or self._pause.isActive():
            self._hand_over()

    def _hand_over(self) -> None:
        self._pause.stop()
        text = self.edit.text().strip()
        try:
            value = self._read(text)
        except ValueError as error:
            self._mark(bad=True)
            self.invalid.emit(f"{self.name} {error}")
            return
        self._shown = text
        self._mark(bad=False)
        self.invalid.emit("")
        self.changed.emit(value)

    def _mark(self, bad: bool | None = None, focused: bool | None = None) -> None:
        for key, value in (("bad", bad), ("focused", focused)):
            if value is not None and self.property(key) != value:
                self.setProperty(key, value)
                self.style().unpolish(self)
                self.style().polish(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.FocusIn, QEvent.Type.FocusOut):
            self._mark(focused=event.type() == QEvent.Type.FocusIn)
        if event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
            by = {Qt.Key.Key_Up: 1, Qt.Key.Key_Down: -1}.get(Qt.Key(event.key()), 0)
            if by and self._steps:
                self._step(by)
                return True
        return super().eventFilter(watched, event)

    def _step(self, by: int) -> None:
        """To the next of ``steps`` above or below."""
        text = self.edit.text().strip() or self.edit.placeholderText()
        now = int(text) if text.isascii() and text.isdigit() else 0
        fits = [step for step in self._steps if (step > now if by > 0 else step < now)]
        if fits:
            self.edit.setText(str(fits[0] if by > 0 else fits[-1]))
            self._pause.start()


def _with_key(tip: str, key: str) -> str:
    """The tip, its first line ending in the key."""
    first, line, rest = tip.partition("\n")
    return f"{first} ({key}){line}{rest}" if key else tip
