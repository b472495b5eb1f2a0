"""Timing full runs when nothing else is wanted."""

from __future__ import annotations

from PySide6.QtCore import QObject, QTimer

from explorer.link.messages import Measure
from explorer.session.session import Session
from explorer.ui.conversation import Conversation

QUIET_MS = 400


class Measuring(QObject):
    """Asks for one measurement of each configuration, after a while of quiet; moving on cancels it until later."""

    def __init__(self, session: Session, talk: Conversation, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._session = session
        self._talk = talk
        self._timer = QTimer(self)
        self._timer.setSingleShot(True)
        self._timer.setInterval(QUIET_MS)
        self._timer.timeout.connect(self._measure)

    def soon(self) -> None:
        """Measure once it has been quiet, where the configuration has not been measured yet."""
        if self._session.state.measured is None:
            self._timer.start()

    def _measure(self) -> None:
        state = self._session.state
        if state.measured is not None or state.configured is None or self._talk.busy("measure", "configure"):
            return
        if self._talk.busy("goto", "matrix") or state.playing:
            self._timer.start()
        else:
            self._talk.ask("measure", lambda id_: Measure(id=id_))
