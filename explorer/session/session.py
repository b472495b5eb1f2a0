"""The session: one observable state, settings with undo and redo, recent inputs. Neither Qt nor JAX."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable
from typing import Any

from explorer.session.config import OF_AN_INPUT, Configuration
from explorer.session.cursor import clamp
from explorer.session.history import History, Moment
from explorer.session.recent import RecentInputs
from explorer.session.state import StepState

Listener = Callable[[StepState], None]


class Session:
    """Holds the ``StepState`` and tells its subscribers when it changes. For one thread: that of the window.

    Subscribers may change the session while they are told; what they change reaches everybody after the present round,
    so that all see the same states in the same order.
    """

    def __init__(
        self,
        state: StepState | None = None,
        recent: RecentInputs | None = None,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._state = state or StepState()
        self.recent = recent or RecentInputs()
        self._clock = clock
        self._history = History()
        self._listeners: list[Listener] = []
        self._telling = False
        self._last_good: Configuration | None = None

    @property
    def state(self) -> StepState:
        return self._state

    @property
    def configuration(self) -> Configuration:
        return self._state.configuration

    def subscribe(self, listener: Listener) -> Callable[[], None]:
        """Have ``listener`` called with each new state. Returns a function that ends it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener) if listener in self._listeners else None

    def update(self, **changes: Any) -> None:
        """Replace fields of the state and tell the subscribers, once. Nothing happens where all fields are the same.

        A new ``configured`` clamps the cursor to its run. Use ``configure`` for settings, so that they can be undone.
        """
        changed = {name: value for name, value in changes.items() if getattr(self._state, name) is not value}
        if not changed:
            return
        if changed.get("configured") is not None:
            changed["cursor"] = clamp(changed.get("cursor", self._state.cursor), changed["configured"])
        self._state = dataclasses.replace(self._state, **changed)
        self._tell()

    def configure(self, **settings: Any) -> bool:
        """Change settings by field name, as one step that can be undone. False where nothing changed."""
        return self._change(self.configuration.replace(**settings), join=True)

    def open_input(self, name: str) -> bool:
        """Take another input by name or path; what suited the shape of the old one is left open again."""
        return self._change(self.configuration.replace(input=name, **dict.fromkeys(OF_AN_INPUT)), join=False)

    def set_configuration(self, configuration: Configuration) -> bool:
        """Take over a whole configuration (from a file, say), as one step of its own that can be undone."""
        return self._change(configuration, join=False)

    def _change(self, configuration: Configuration, join: bool) -> bool:
        if configuration == self.configuration:
            return False
        self._history.record(self._moment(), configuration, self._clock(), join)
        self.update(configuration=configuration)
        return True

    def undo(self) -> bool:
        """Go back before the last change of settings, to where the cursor stood then. False where there is none."""
        return self._restore(self._history.undo(self._moment()))

    def redo(self) -> bool:
        """Undo the undo. False where there is none."""
        return self._restore(self._history.redo(self._moment()))

    @property
    def undo_text(self) -> str:
        """'Undo block-q', or '' where nothing can be undone."""
        fields = ", ".join(sorted(name.replace("_", "-") for name in self._history.undo_fields))
        return f"Undo {fields}" if fields else ""

    @property
    def can_redo(self) -> bool:
        return self._history.can_redo

    def mark_good(self) -> None:
        """The engine took the present settings: they are what ``return_to_last_good`` goes back to, and recent."""
        if self.configuration != self._last_good:
            self._last_good = self.configuration
            self.recent.add(self.configuration.input)

    @property
    def last_good(self) -> Configuration | None:
        """The newest settings that the engine took; None before the first."""
        return self._last_good

    def return_to_last_good(self) -> bool:
        """Settings as they were when the engine last took them; can be undone. False where that is no change."""
        return self._last_good is not None and self.set_configuration(self._last_good)

    def _restore(self, moment: Moment | None) -> bool:
        if moment is None:
            return False
        self.update(configuration=moment.configuration, cursor=moment.cursor)
        return True

    def _moment(self) -> Moment:
        return Moment(self._state.configuration, self._state.cursor)

    def _tell(self) -> None:
        if self._telling:
            return  # the round under way goes on until everybody has seen the newest state
        self._telling = True
        try:
            told: StepState | None = None
            while told is not self._state:
                told = self._state
                for listener in tuple(self._listeners):
                    listener(told)
        finally:
            self._telling = False
