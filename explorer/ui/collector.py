"""Garbage collection on the window's thread only.

Python collects cycles on whichever thread happens to allocate. Widgets take part in cycles (a button and the function
it calls), and Qt crashes when a widget is destroyed on the thread that prepares inputs or reads the engine's answers.
"""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

CHECK_MS = 500


class Collector(QObject):
    """While it lives, cycles are collected by a timer of the thread it was made on. ``stop`` hands back to Python."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        gc.collect()
        gc.freeze()  # what the start left behind stays: later collections are short
        gc.disable()
        self._timer = QTimer(self)
        self._timer.timeout.connect(self.check)
        self._timer.start(CHECK_MS)

    def check(self) -> None:
        """Collect the generations that Python itself would."""
        for generation, (count, threshold) in reversed(
            list(enumerate(zip(gc.get_count(), gc.get_threshold(), strict=True)))
        ):
            if count > threshold > 0:
                gc.collect(generation)
                return

    def stop(self) -> None:
        """Automatic collection again, on any thread."""
        self._timer.stop()
        gc.unfreeze()
        gc.enable()
