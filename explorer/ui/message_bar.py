"""One line to the user: what is under way, what went wrong, what should be known. It can be put away."""

from __future__ import annotations

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QSizePolicy, QWidget

from explorer.session.state import StepState
from explorer.ui.button_keys import keep_button_keys
from explorer.ui.icon_button import Icon, IconButton
from explorer.ui.theme import LIGHT, Theme

BUSY_AFTER_MS = 350
"""What is done sooner is not announced, so that the window does not flicker while a run is scrubbed."""


class MessageBar(QFrame):
    """Hidden while there is nothing to say. ``stop_requested``: stop what is under way. ``dismissed``: put it away."""

    stop_requested = Signal()
    dismissed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("notice")
        self._theme = LIGHT
        self._icon = Icon("info", 16)
        self.text = QLabel()
        self.text.setTextFormat(Qt.TextFormat.PlainText)
        self.text.setWordWrap(True)
        self.text.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.text.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        self.stop = QPushButton("Stop")
        self.stop.setToolTip("Stop what is under way; an engine that does not stop is ended and started again (Esc)")
        self.stop.clicked.connect(self.stop_requested)
        keep_button_keys(self.stop)
        self.close_button = IconButton("close")
        self.close_button.setFixedSize(28, 28)
        self.close_button.setToolTip("Put this message away")
        self.close_button.setAccessibleName("Put this message away")
        self.close_button.clicked.connect(self.dismissed)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(8, 4, 8, 4)
        layout.setSpacing(8)
        for widget in (self._icon, self.text, self.stop, self.close_button):
            layout.addWidget(widget)
        self._later = QTimer(self)
        self._later.setSingleShot(True)
        self._later.timeout.connect(self.show)
        self.kind = ""
        self.hide()

    def show_state(self, state: StepState) -> None:
        """Show the state's message, a busy one only after a moment."""
        if (state.message, state.message_kind) == (self.text.text(), self.kind):
            return
        self.text.setText(state.message)
        self.kind = state.message_kind if state.message else ""
        self.stop.setVisible(self.kind == "busy")
        self.close_button.setVisible(self.kind != "busy")
        self._dress()
        if not self.kind:
            self._later.stop()
            self.hide()
        elif self.kind != "busy":
            self._later.stop()
            self.show()
        elif not self.isVisible() and not self._later.isActive():
            self._later.start(BUSY_AFTER_MS)

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.close_button.set_theme(theme)
        self._dress()

    def _dress(self) -> None:
        name, colour = ("warning", self._theme.wrong) if self.kind == "error" else ("info", self._theme.focus)
        self._icon.show_icon(name, colour)
        if self.property("kind") != self.kind:
            self.setProperty("kind", self.kind)
            self.style().unpolish(self)
            self.style().polish(self)
