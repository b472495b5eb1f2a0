"""Two panels in one place: both where there is room, else one of them, with a button to the other."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QSize
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QSplitter, QToolButton, QVBoxLayout, QWidget

from explorer.ui.panel import Panel


class PanelPair(QWidget):
    """``splitter`` holds both panels; ``names`` are what the buttons in their headings call them."""

    def __init__(self, splitter: QSplitter, panels: tuple[Panel, Panel], names: tuple[str, str]) -> None:
        super().__init__()
        self.panels = panels
        self.shown = 0
        self._splitter = splitter
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.addWidget(splitter)
        self.buttons = []
        for place, panel in enumerate(panels):
            splitter.addWidget(panel)
            button = QToolButton()
            button.setObjectName("switch")
            button.setText(f"{names[1 - place]} ▸")
            button.setToolTip(f"Show {names[1 - place].lower()} in this place; a taller window shows both")
            button.clicked.connect(lambda _=False, other=1 - place: self.show_panel(other))
            panel.head.addWidget(button)
            self.buttons.append(button)
        self._arrange()

    @property
    def both(self) -> bool:
        """Whether there is room for both."""
        needed = sum(panel.minimumSizeHint().height() for panel in self.panels) + self._splitter.handleWidth()
        return self.height() >= needed

    def show_panel(self, place: int) -> None:
        """Have panel 0 or 1 shown where there is room for one only."""
        self.shown = place
        self._arrange()

    def minimumSizeHint(self) -> QSize:
        hints = [panel.minimumSizeHint() for panel in self.panels]
        return QSize(max(hint.width() for hint in hints), max(hint.height() for hint in hints))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._arrange()

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.LayoutRequest:
            self._arrange()
        return super().event(event)

    def _arrange(self) -> None:
        both = self.both
        for place, (panel, button) in enumerate(zip(self.panels, self.buttons, strict=True)):
            panel.setVisible(both or place == self.shown)
            button.setVisible(not both)
