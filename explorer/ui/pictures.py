"""The pictures of a head that do not come with every step: its matrix, and the strips of Q, K and V."""

from __future__ import annotations

from explorer.link.messages import GetMatrix, GetStrips, Matrix, Snapshot
from explorer.session.session import Session
from explorer.ui.conversation import Conversation

BY_STEP = ("flash-probabilities", "difference")
"""Kinds of matrix that change with every step."""


class Pictures:
    """Asks for pictures, and puts what comes into the state."""

    def __init__(self, session: Session, talk: Conversation) -> None:
        self._session = session
        self._talk = talk

    def ask(self, batch: int, head: int, step: int) -> None:
        """Ask for the strips and the chosen matrix of a head."""
        self._talk.ask("strips", lambda id_: GetStrips(id=id_, batch=batch, head=head))
        self._ask_matrix(batch, head, step)

    def ask_matrix(self) -> None:
        """Ask for the chosen matrix of the head on screen."""
        shown = self._session.state.snapshot
        self._ask_matrix(*((shown.batch, shown.head, shown.step) if shown is not None else (0, 0, 0)))

    def follow(self, snapshot: Snapshot, same_head: bool) -> None:
        """Ask for what a new step makes stale."""
        if not same_head:
            self.ask(snapshot.batch, snapshot.head, snapshot.step)
        elif self._session.state.matrix_kind in BY_STEP:
            self.ask_matrix()

    def take_matrix(self, matrix: Matrix) -> None:
        """Show a matrix, if it is still the kind that is wanted."""
        state = self._session.state
        if matrix.kind == state.matrix_kind:
            done = {"message": "", "message_kind": ""} if state.message_kind == "busy" else {}
            self._session.update(matrix=matrix, **done)

    def _ask_matrix(self, batch: int, head: int, step: int) -> None:
        kind = self._session.state.matrix_kind
        self._talk.ask("matrix", lambda id_: GetMatrix(id=id_, kind=kind, batch=batch, head=head, step=step))
