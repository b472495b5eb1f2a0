"""A titled card: what it shows, the view itself, and one sentence of plain words under it."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QSizePolicy, QVBoxLayout, QWidget

from explorer.ui import style
from explorer.ui.theme import Theme
from explorer.ui.views import View


class Sentence(QLabel):
    """Wrapped text that keeps the height it once needed, so that nothing jumps while a run is stepped through."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sentence")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
        self.setFont(style.ui_font(style.SMALL_PX))
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self._kept = 0

    def say(self, text: str) -> None:
        if text != self.text():
            self.setText(text)
            self._keep()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        if event.oldSize().width() != event.size().width():
            self._kept = 0
            self._keep()

    def _keep(self) -> None:
        needed = self.heightForWidth(max(self.width(), 100)) if self.text() else self.fontMetrics().height()
        if needed > self._kept:
            self._kept = needed
            self.setFixedHeight(needed)


class Panel(QFrame):
    """A card around a view (or any widget, which then has no sentence)."""

    def __init__(self, title: str, body: QWidget, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("card")
        self.body = body
        self.title = QLabel(title.upper())
        self.title.setObjectName("title")
        self.head = QHBoxLayout()
        self.head.setSpacing(4)
        self.head.addWidget(self.title)
        self.head.addStretch(1)
        self.sentence = Sentence()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(4)
        layout.addLayout(self.head)
        layout.addWidget(body, 1)
        if isinstance(body, View):
            layout.addWidget(self.sentence)

    def add_header(self, widget: QWidget) -> None:
        """Put a control at the right end of the title's line."""
        self.head.addWidget(widget)

    def set_sentence(self, text: str) -> None:
        """What the view shows now; nothing while the view says in its own place why it is empty."""
        empty = isinstance(self.body, View) and bool(self.body.empty_text())
        self.sentence.say("" if empty else text)

    def set_theme(self, theme: Theme) -> None:
        """Everything here is coloured by the application's style sheet."""
