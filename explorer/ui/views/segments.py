"""A row of exclusive choices, one of which is always taken."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QButtonGroup, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from explorer.ui.button_keys import keep_button_keys
from explorer.ui.theme import SPACING, Theme


@dataclass(frozen=True)
class Choice:
    """``short`` is shown where the row is too narrow for every ``long``."""

    key: str
    long: str
    short: str
    tip: str


class Segments(QWidget):
    """Buttons joined into one control; ``chosen(key)`` when the user takes one."""

    chosen = Signal(str)

    def __init__(self, choices: Sequence[Choice], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._choices = tuple(choices)
        self._group = QButtonGroup(self)
        self._group.setExclusive(True)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(0)
        self.buttons: dict[str, QPushButton] = {}
        for choice in self._choices:
            button = QPushButton(choice.long, self)
            button.setCheckable(True)
            button.setToolTip(choice.tip)
            button.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
            button.clicked.connect(lambda _checked=False, key=choice.key: self.chosen.emit(key))
            self._group.addButton(button)
            layout.addWidget(button)
            self.buttons[choice.key] = button
        keep_button_keys(*self.buttons.values())
        layout.addStretch(1)

    def set_current(self, key: str) -> None:
        """Show a choice as taken, without a signal."""
        button = self.buttons.get(key)
        if button is not None:
            button.setChecked(True)

    def set_theme(self, theme: Theme) -> None:
        # Qt keeps the rules of an older sheet for buttons that were measured but not polished yet
        for widget in (self, *self.buttons.values()):
            widget.ensurePolished()
        self.setStyleSheet(
            f"QPushButton {{ color: {theme.muted}; background: {theme.panel}; border: 1px solid {theme.border};"
            f" padding: {SPACING // 2}px {2 * SPACING}px; margin: 0; border-radius: 0; }}"
            f"QPushButton:hover {{ color: {theme.text}; background: {theme.faint}; }}"
            f"QPushButton:checked {{ color: {theme.inverse}; background: {theme.text}; border-color: {theme.text}; }}"
            f"QPushButton:focus {{ border: 2px solid {theme.focus}; }}"
        )
        self.fit()

    def full_width(self) -> int:
        """Logical pixels that all long words need."""
        metrics = self.fontMetrics()
        chrome = 4 * SPACING + 6
        return sum(metrics.horizontalAdvance(choice.long) + chrome for choice in self._choices)

    def fit(self) -> None:
        """Long words where all of them fit, else the short ones."""
        long = self.full_width() <= self.width()
        for choice in self._choices:
            self.buttons[choice.key].setText(choice.long if long else choice.short)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit()
