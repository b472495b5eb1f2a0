"""Loading inputs and building problems on a thread of its own; only the newest result is handed over."""

from __future__ import annotations

from dataclasses import dataclass

from PySide6.QtCore import QObject, QRunnable, QThreadPool, Signal

from explorer.link.messages import Configure
from explorer.session.config import Configuration, ConfigurationError
from explorer.session.inputs import AttentionInputs, InputError, load_inputs
from explorer.session.logs import log_fault
from explorer.session.problem import build_problem, clamped_note
from kernels.problem import ProblemError


@dataclass(frozen=True, eq=False)
class Prepared:
    """A configuration with its input, as a request for the engine (its ``id`` is filled in when it is sent)."""

    configuration: Configuration
    inputs: AttentionInputs
    request: Configure
    notes: tuple[str, ...]


def prepare(configuration: Configuration) -> Prepared:
    """Load and build. Raises InputError, ProblemError or ConfigurationError, one line each."""
    inputs = load_inputs(configuration)
    problem, blocks, q, k, v = build_problem(configuration, inputs)
    request = Configure(
        id=0, problem=problem, blocks=blocks, kernel=configuration.kernel, chip=configuration.chip, q=q, k=k, v=v
    )
    clamped = clamped_note(configuration, blocks)
    return Prepared(configuration, inputs, request, (*((clamped,) if clamped else ()), *inputs.notes))


class Preparation(QObject):
    """Runs ``prepare`` off the window's thread. ``ready`` carries a Prepared, ``failed`` one line for a person."""

    ready = Signal(object)
    failed = Signal(str)
    _done = Signal(int, object, str)

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._pool = QThreadPool(self)
        self._pool.setMaxThreadCount(1)
        self._newest = 0
        self._done.connect(self._hand_over)

    def begin(self, configuration: Configuration) -> None:
        """Prepare this configuration; an older one that is still at it is no longer of interest."""
        self._newest += 1
        number = self._newest
        self._pool.clear()
        self._pool.start(QRunnable.create(lambda: self._run(number, configuration)))

    def finish(self) -> None:
        """Wait for the thread to end, its result unwanted."""
        self._newest += 1
        self._pool.clear()
        self._pool.waitForDone()

    def _run(self, number: int, configuration: Configuration) -> None:
        try:
            self._done.emit(number, prepare(configuration), "")
        except (InputError, ProblemError, ConfigurationError) as error:
            self._done.emit(number, None, str(error))
        except MemoryError:
            self._done.emit(number, None, "there is not enough memory for this: use shorter lengths or fewer heads")
        except Exception as error:
            where = log_fault("preparing an input failed", error=error)
            self._done.emit(number, None, f"the input could not be prepared: {error} ({where})")

    def _hand_over(self, number: int, prepared: Prepared | None, problem: str) -> None:
        if number != self._newest:
            return
        if prepared is None:
            self.failed.emit(problem)
        else:
            self.ready.emit(prepared)
