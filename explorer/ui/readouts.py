"""The foot of the window: what was measured, where it ran, and what it takes."""

from __future__ import annotations

import html

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QLabel, QWidget

from explorer.session.state import StepState
from explorer.ui.flow import Flow
from explorer.ui.readout_texts import Readout, engine_text, readouts, where_it_ran
from explorer.ui.theme import LIGHT, Theme

_BADGE_TIP = "Where the kernel runs: times are those of this place, and a TPU's only where it says so"
_ENGINE_TIP = "The process that runs the kernel, and the memory it holds (resident set)"


class Readouts(QFrame):
    """Flows onto a second line where one does not hold everything: nothing is ever cut."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._theme = LIGHT
        self._shown: tuple = ()
        self._parts: list[Readout] = []
        self._flow = Flow(self)
        self.badge = QLabel()
        self.badge.setToolTip(_BADGE_TIP)
        self.badge.hide()
        self._flow.addWidget(self.badge)
        self.labels = [self._label() for _ in readouts(StepState())]
        self.engine = self._label()
        self.engine.setTextFormat(Qt.TextFormat.PlainText)
        self.engine.setToolTip(_ENGINE_TIP)
        self.show_state(StepState())

    def show_state(self, state: StepState) -> None:
        """All readouts of a state; does nothing where none of them can have changed."""
        parts = (state.configured, state.snapshot, state.measured, state.engine)
        if len(parts) == len(self._shown) and all(a is b for a, b in zip(parts, self._shown, strict=True)):
            return
        self._shown = parts
        self._show_badge(*where_it_ran(state))
        self._parts = readouts(state)
        self._write()
        _set_text(self.engine, engine_text(state))

    def texts(self) -> list[str]:
        """What is written, item by item."""
        badge = [self.badge.text()] if self.badge.text() else []
        return [*badge, *(part.text for part in self._parts), self.engine.text()]

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self._write()

    def _show_badge(self, text: str, caution: bool) -> None:
        _set_text(self.badge, text)
        name = "badge" if caution else "muted"
        if self.badge.objectName() != name:
            self.badge.setObjectName(name)
            self.badge.style().unpolish(self.badge)
            self.badge.style().polish(self.badge)
        self.badge.setVisible(bool(text))

    def _write(self) -> None:
        for label, part in zip(self.labels, self._parts, strict=True):
            name, value, rest = (html.escape(text) for text in (part.name, part.value, part.rest))
            colour = self._theme.wrong if part.wrong else self._theme.text
            _set_text(label, f"{name} <b style='color:{colour}'>{value}</b> {rest}".rstrip())
            label.setToolTip(f"<p>{html.escape(part.tip)}</p>" if part.tip else "")

    def _label(self) -> QLabel:
        label = QLabel()
        label.setObjectName("muted")
        label.setTextFormat(Qt.TextFormat.RichText)
        self._flow.addWidget(label)
        return label


def _set_text(label: QLabel, text: str) -> None:
    """Spares a new layout where the text is as it was."""
    if label.text() != text:
        label.setText(text)
