"""The clock that plays a run."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer, Signal


class Player(QObject):
    """Emits ``tick`` at a number of steps per second while it runs."""

    tick = Signal()

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.tick)

    def set_running(self, running: bool, steps_per_second: float) -> None:
        """Start, stop or change the speed."""
        if running:
            self._timer.start(max(1, round(1000 / steps_per_second)))
        else:
            self._timer.stop()

    def stop(self) -> None:
        self._timer.stop()
