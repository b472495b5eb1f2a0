"""Moving through a run: where the user wants to be, and the one request at a time that gets there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from PySide6.QtCore import QObject

from explorer.link.messages import Configured, GoTo, Snapshot
from explorer.session import cursor as cursors
from explorer.session.cursor import Cursor, Grain
from explorer.session.session import Session
from explorer.session.state import StepState
from explorer.ui.conversation import Conversation
from explorer.ui.player import Player

Move = Callable[[Cursor, Configured], Cursor]


class Navigator(QObject):
    """Turns moves into ``GoTo`` requests. The cursor of the state follows when the step's snapshot is there.

    ``visit_skipped``: whether steps stop at tiles that the mask empties. ``held``: no move is taken while a new
    configuration is on its way in.
    """

    def __init__(self, session: Session, talk: Conversation, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.visit_skipped = False
        self.held = False
        self._session = session
        self._talk = talk
        self._wanted: Cursor | None = None
        self._player = Player(self)
        self._player.tick.connect(self._play_on)

    @property
    def state(self) -> StepState:
        return self._session.state

    def go(self, cursor: Cursor) -> None:
        """Move to a cursor; the newest wins."""
        configured = self.state.configured
        if configured is None or not configured.driven or self.held:
            return
        cursor = cursors.clamp(cursor, configured)
        shown = self.state.snapshot
        if shown is not None and shown.step == cursor.step and not self._talk.busy("goto"):
            self._wanted = None
            self._session.update(cursor=cursor)
            return
        self._wanted = cursor
        self._talk.cancel("measure")
        self._talk.ask("goto", lambda id_: GoTo(id=id_, step=cursor.step))

    def move(self, how: Move) -> None:
        """Move by a function of ``explorer.session.cursor`` from where the user wants to be."""
        if self.state.configured is not None and self.state.configured.driven:
            self.go(how(self._wanted or self.state.cursor, self.state.configured))

    def go_to_step(self, step: int) -> None:
        self.move(lambda cursor, configured: cursors.go_to(cursor, configured, step))

    def go_to_head(self, batch: int, head: int) -> None:
        self.move(lambda cursor, configured: cursors.to_head(cursor, configured, batch, head))

    def forward(self) -> None:
        self.move(lambda cursor, configured: cursors.forward(cursor, configured, self.visit_skipped))

    def backward(self) -> None:
        self.move(lambda cursor, configured: cursors.backward(cursor, configured, self.visit_skipped))

    def move_by(self, grain: Grain, how: Move) -> None:
        """Move once by another grain than the one chosen."""

        def moved(cursor: Cursor, configured: Configured) -> Cursor:
            return replace(how(replace(cursor, grain=grain), configured), grain=cursor.grain)

        self.move(moved)

    def go_to_next_head(self, by: int) -> None:
        """The head ``by`` places on, over batch elements too; stays at the ends."""
        shown, configured = self.state.snapshot, self.state.configured
        if shown is None or configured is None:
            return
        heads = configured.problem.heads
        place = shown.batch * heads + shown.head + by
        if 0 <= place < configured.problem.batch * heads:
            self.go_to_head(*divmod(place, heads))

    def choose_grain(self, grain: Grain) -> None:
        self._session.update(cursor=replace(self.state.cursor, grain=grain))
        if self._wanted is not None:
            self._wanted = replace(self._wanted, grain=grain)

    def choose_stage(self, stage: int) -> None:
        """Show the present step as it stood after a stage."""
        self.move(lambda cursor, configured: replace(cursor, stage=stage))

    def play(self, playing: bool) -> None:
        """Step forward by the clock, at the state's steps per second."""
        self._session.update(playing=playing)
        self._player.set_running(playing, self.state.steps_per_second)

    def set_speed(self, steps_per_second: float) -> None:
        self._session.update(steps_per_second=steps_per_second)
        self._player.set_running(self.state.playing, steps_per_second)

    def arrived(self, snapshot: Snapshot) -> Cursor:
        """The cursor that a snapshot brings: where the user wanted to be, at the step that is shown."""
        cursor = self._wanted or self.state.cursor
        if not self._talk.busy("goto"):
            self._wanted = None
        return replace(cursor, step=snapshot.step)

    def forget(self) -> None:
        """Want nothing, and stop playing: the run is gone."""
        self._wanted = None
        self.play(False)

    def _play_on(self) -> None:
        configured = self.state.configured
        if configured is None or self._talk.busy("goto") or self.held:
            return
        before = self._wanted or self.state.cursor
        after = cursors.forward(before, configured, self.visit_skipped)
        if after == before:
            self.play(False)
        else:
            self.go(after)
