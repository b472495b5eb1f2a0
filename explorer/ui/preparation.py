"""Loading inputs and building problems on a thread of its own; only the newest result is handed over."""

from __future__ import annotations

import queue
import threading

from PySide6.QtCore import QObject, Signal

from explorer.session.config import Configuration, ConfigurationError
from explorer.session.inputs import InputError
from explorer.session.logs import log_fault
from explorer.session.prepared import Prepared, prepare
from kernels.problem import ProblemError


class Preparation(QObject):
    """Runs ``prepare`` off the window's thread. ``ready`` carries a Prepared, ``failed`` one line for a person.

    The thread is Python's own: Qt's pool deletes what it ran on the thread that ran it, which is no place for the
    last reference to anything of the window's.
    """

    ready = Signal(object)
    failed = Signal(str)
    _done = Signal(int, object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._newest = 0
        self._wanted: queue.Queue[tuple[int, Configuration] | None] = queue.Queue()
        self._thread = threading.Thread(target=self._work, name="preparation", daemon=True)
        self._done.connect(self._hand_over)
        self._thread.start()

    def begin(self, configuration: Configuration) -> None:
        """Prepare this configuration; an older one that is still at it is no longer of interest."""
        self._newest += 1
        self._wanted.put((self._newest, configuration))

    def finish(self) -> None:
        """Wait for the thread to end, its result unwanted. Nothing can be begun after it."""
        self._newest += 1
        self._wanted.put(None)
        self._thread.join()

    def _work(self) -> None:
        while (wanted := self._wanted.get()) is not None:
            number, configuration = wanted
            if number == self._newest:
                prepared, problem = _attempt(configuration)
                if number == self._newest:
                    self._done.emit(number, prepared, problem)

    def _hand_over(self, number: int, prepared: Prepared | None, problem: str) -> None:
        if number != self._newest:
            return
        if prepared is None:
            self.failed.emit(problem)
        else:
            self.ready.emit(prepared)


def _attempt(configuration: Configuration) -> tuple[Prepared | None, str]:
    """What was prepared, or why it could not be."""
    try:
        return prepare(configuration), ""
    except (InputError, ProblemError, ConfigurationError) as error:
        return None, str(error)
    except MemoryError:
        return None, "there is not enough memory for this: use shorter lengths or fewer heads"
    except Exception as error:
        where = log_fault("preparing an input failed", error=error)
        return None, f"the input could not be prepared: {error} ({where})"
