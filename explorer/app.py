"""Starts the window."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator, Sequence
from types import TracebackType

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QApplication

from explorer.session.config import Configuration
from explorer.session.logs import log_fault, logging_to_file
from explorer.session.session import Session
from explorer.session.state import StepState
from explorer.ui.bridge import local_or
from explorer.ui.collector import Collector
from explorer.ui.controller import Controller
from explorer.ui.window import Window


def main(configuration: Configuration, file: str | None = None, engine: Sequence[str] | None = None) -> int:
    """Open the window on a configuration and run until it is closed. Returns the exit code.

    ``file``: what the user opened; its settings are in the configuration already. ``engine``: the command that starts
    the engine; this installation's by default.
    """
    del file
    application = QApplication.instance() or QApplication(sys.argv[:1])
    assert isinstance(application, QApplication)
    application.setApplicationName("Tilescope")
    application.setDesktopFileName("tilescope")
    controller = Controller(Session(StepState(configuration=configuration)), local_or(engine))
    with logging_to_file(), _faults_in_words(controller):
        window = Window(controller, QSettings("Tilescope", "Tilescope"))
        collector = Collector(window)
        window.show()
        controller.start()
        try:
            return application.exec()
        finally:
            collector.stop()


@contextlib.contextmanager
def _faults_in_words(controller: Controller) -> Iterator[None]:
    """While it lasts, an exception in the window becomes one line in it, and a traceback in the log."""

    def report(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        where = log_fault("the window met a fault", error=error.with_traceback(trace))
        controller.report(f"Something failed in the window: {error} ({where})")

    before, sys.excepthook = sys.excepthook, report
    try:
        yield
    finally:
        sys.excepthook = before
