"""Between the session, the engine and the views: intents in, requests out, replies into the state.

A new configuration is taken over only when all of its first picture is there, so that the window keeps showing the last
good state until then, and nothing ever mixes two configurations.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import msgspec
from PySide6.QtCore import QObject, Signal

from explorer.link.messages import (
    AnyReply,
    Configured,
    Dropped,
    Failed,
    GoTo,
    Hello,
    KernelList,
    ListKernels,
    Matrix,
    MatrixKind,
    Measured,
    Progress,
    Reply,
    Snapshot,
    Strips,
)
from explorer.session import cursor as cursors
from explorer.session.config import Configuration
from explorer.session.cursor import Cursor
from explorer.session.logs import log_fault
from explorer.session.prepared import Prepared
from explorer.session.session import Session
from explorer.session.state import Selection, StepState
from explorer.ui.bridge import ClientFactory, EngineBridge, local_or
from explorer.ui.conversation import Conversation
from explorer.ui.incoming import Incoming, opening_step, same_place
from explorer.ui.measuring import Measuring
from explorer.ui.navigator import Navigator
from explorer.ui.pictures import Pictures
from explorer.ui.preparation import Preparation


class Controller(QObject):
    """Runs a session. ``state_changed`` carries each new StepState; ``configured`` a new kernel on the bench."""

    state_changed = Signal(object)
    configured = Signal(object)

    def __init__(self, session: Session, factory: ClientFactory | None = None, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self.session = session
        self.bridge = EngineBridge(factory or local_or(None), self)
        self.preparation = Preparation(self)
        self._talk = Conversation(self.bridge.client)
        self.navigator = Navigator(session, self._talk, self)
        self.pictures = Pictures(session, self._talk)
        self.measuring = Measuring(session, self._talk, self)
        self._prepared: Prepared | None = None
        self._asked: Configuration | None = None
        self._incoming: Incoming | None = None
        self._fate = ""
        self.bridge.message.connect(self._receive)
        self.bridge.ended.connect(self._engine_ended)
        self.preparation.ready.connect(self._configure)
        self.preparation.failed.connect(lambda problem: self._say(problem, "error"))
        session.subscribe(self._session_changed)

    # ---------------------------------------------------------------- life

    @property
    def state(self) -> StepState:
        return self.session.state

    def start(self) -> None:
        """Start the engine, and prepare the session's configuration meanwhile."""
        self.session.update(engine="engine starting")
        self.bridge.client.start()
        self._prepare(self.session.configuration)

    def close(self) -> None:
        """End the engine and every thread."""
        self.navigator.forget()
        self.preparation.finish()
        self.bridge.client.close()

    @property
    def settled(self) -> bool:
        """Whether nothing is under way that would change the picture (measuring goes on behind it)."""
        waiting = self._incoming is not None or self._talk.busy("configure", "goto", "matrix", "strips")
        return not waiting and self.state.configuration == self._asked and self.state.message_kind != "busy"

    # ---------------------------------------------------------------- intents

    def change(self, settings: dict[str, Any]) -> None:
        """Change settings by field name; takes effect by itself."""
        self.session.configure(**settings)

    def undo(self) -> None:
        self.session.undo()

    def redo(self) -> None:
        self.session.redo()

    def report(self, message: str, kind: str = "error") -> None:
        """Say one line to the user."""
        self._say(message, kind)

    @property
    def measured(self) -> bool:
        """Whether full runs have been timed, or need no timing."""
        return self.state.measured is not None

    def choose_matrix(self, kind: MatrixKind) -> None:
        """Show another picture of the matrix."""
        self.session.update(matrix_kind=kind)
        if self._incoming is None and self.state.configured is not None:
            self.pictures.ask_matrix()

    def select(self, row: int | None, column: int | None = None) -> None:
        self.session.update(selection=Selection(row, column))

    def stop(self) -> None:
        """Stop what is under way; an engine that does not stop by itself soon is ended and started again."""
        self.navigator.play(False)
        if not self._talk.busy():
            self.dismiss()
            return
        self._say("Stopping…", "busy")
        self._talk.cancel()
        self.bridge.send_later(2000, lambda: self.bridge.client.kill() if self.bridge.client.busy_for() > 2 else None)

    def restart_engine(self) -> None:
        """End the engine, whatever it does, and go on with a new one."""
        self._say("The engine is started again.", "info")
        self._go_on_with_new_engine()

    def dismiss(self) -> None:
        self._say("", "")

    # ---------------------------------------------------------------- configuration

    def _session_changed(self, state: StepState) -> None:
        if state.configuration != self._asked:
            self._prepare(state.configuration)
        self.state_changed.emit(state)

    def _prepare(self, configuration: Configuration) -> None:
        self._asked = configuration
        self._say("Preparing the input…", "busy")
        self.preparation.begin(configuration)

    def _configure(self, prepared: Prepared) -> None:
        self._prepared = prepared
        self._set_incoming(None)
        self._talk.forget("goto", "matrix", "strips", "measure", "kernels")
        self._talk.cancel("configure")
        self._talk.ask("configure", lambda id_: msgspec.structs.replace(prepared.configure, id=id_))
        self._say("Capturing and compiling…", "busy")

    def _begin_picture(self, configured: Configured) -> None:
        """A kernel is on the bench: gather what its first picture needs before showing any of it."""
        assert self._prepared is not None
        state = self.state
        self._set_incoming(Incoming(self._prepared, configured, state.matrix_kind))
        self.session.mark_good()
        if configured.driven:
            first = state.configured is None and state.snapshot is None and state.cursor == Cursor()
            step = opening_step(configured) if first else cursors.clamp(state.cursor, configured).step
            if state.snapshot is not None and state.snapshot.step == state.cursor.step:  # not so after an undo
                step = same_place(state.snapshot, configured, otherwise=step)
            self._talk.ask("goto", lambda id_: GoTo(id=id_, step=step))
        else:
            self.pictures.ask(0, 0, 0)

    def _set_incoming(self, incoming: Incoming | None) -> None:
        self._incoming = incoming
        self.navigator.held = incoming is not None

    def _take_over(self) -> None:
        """Show the incoming configuration, whole."""
        incoming = self._incoming
        if incoming is None or not incoming.complete:
            return
        self._set_incoming(None)
        cursor = self.state.cursor
        if incoming.snapshot is not None:
            cursor = replace(cursor, step=incoming.snapshot.step)
        # what became of an engine is still said once its successor shows the same step: else nobody could read it
        message, self._fate = self._fate or " ".join(incoming.prepared.notes), ""
        self.session.update(
            inputs=incoming.prepared.inputs, configured=incoming.configured, snapshot=incoming.snapshot,
            matrix=incoming.matrix, strips=incoming.strips, measured=None, cursor=cursor, selection=Selection(),
            message=message, message_kind="info" if message else "",
        )  # fmt: skip
        if incoming.problem:
            self._say(incoming.problem, "error")
        request = incoming.prepared.configure
        self._talk.ask("kernels", lambda id_: ListKernels(id=id_, problem=request.problem, blocks=request.blocks))
        self.measuring.soon()
        self.configured.emit(incoming.configured)

    # ---------------------------------------------------------------- replies

    def _receive(self, reply: AnyReply) -> None:
        if isinstance(reply, Hello):
            self._engine_ready(reply)
        elif isinstance(reply, Progress):
            self._show_progress(reply)
        elif isinstance(reply, Reply):
            tag = self._talk.settle(reply)
            if tag:
                self._answer(tag, reply)

    def _engine_ready(self, hello: Hello) -> None:
        self.session.update(engine=f"JAX {hello.jax_version} · {hello.device or hello.platform}")

    def _show_progress(self, progress: Progress) -> None:
        if self._talk.is_current(progress) and self._talk.busy("configure", "goto", "matrix") and progress.total > 0:
            self._say(f"{progress.text.capitalize()}… {progress.done} of {progress.total}", "busy")

    def _answer(self, tag: str, reply: Reply) -> None:
        if tag == "configure" and self._talk.busy("configure"):
            return  # a newer configuration is on its way: nothing of this one is shown
        takers: dict[type, Callable[[Any], None]] = {
            Configured: self._begin_picture,
            Snapshot: self._take_snapshot,
            Matrix: self._take_matrix,
            Strips: self._take_strips,
            Measured: lambda measured: self.session.update(measured=measured),
            KernelList: lambda kernels: self.session.update(kernels=kernels),
            Failed: lambda failed: self._take_failure(tag, failed),
            Dropped: lambda _: self._take_dropped(tag),
        }
        takers[type(reply)](reply)
        self._take_over()

    def _take_snapshot(self, snapshot: Snapshot) -> None:
        if self._incoming is not None:
            self._incoming = replace(self._incoming, snapshot=snapshot)
            self.pictures.ask(snapshot.batch, snapshot.head, snapshot.step)
            return
        before = self.state.snapshot
        same_head = before is not None and (before.batch, before.head) == (snapshot.batch, snapshot.head)
        changes: dict[str, Any] = {"snapshot": snapshot, "cursor": self.navigator.arrived(snapshot)}
        if not same_head:
            changes.update(matrix=None, strips=None, selection=Selection())
        if self.state.message_kind == "busy":
            changes.update(message="", message_kind="")
        self.session.update(**changes)
        self.pictures.follow(snapshot, same_head)
        self.measuring.soon()

    def _take_matrix(self, matrix: Matrix) -> None:
        if self._incoming is not None:
            self._incoming = replace(self._incoming, matrix=matrix)
        else:
            self.pictures.take_matrix(matrix)

    def _take_strips(self, strips: Strips) -> None:
        if self._incoming is not None:
            self._incoming = replace(self._incoming, strips=strips)
        else:
            self.session.update(strips=strips)

    def _take_failure(self, tag: str, failed: Failed) -> None:
        if failed.details:
            log_fault(failed.message, failed.details)
        if self._incoming is not None and tag in ("matrix", "strips", "goto"):
            self._incoming = self._incoming.without(tag, failed.message)
        if failed.kind == "cancelled":
            if tag != "measure" and not self._talk.busy("configure", "goto", "matrix"):
                self._say("Stopped.", "info")
            return
        if tag == "matrix":
            self.session.update(matrix=None)
        self.navigator.play(False)
        self._say(failed.message, "error")

    def _take_dropped(self, tag: str) -> None:
        if self._incoming is not None and tag in ("matrix", "strips", "goto"):
            self._incoming = self._incoming.without(tag, "")

    # ---------------------------------------------------------------- an engine that ends

    def _engine_ended(self, reason: str, again: bool) -> None:
        self.navigator.play(False)
        self.session.update(engine="engine stopped")
        if not again:
            self._say(f"{reason} It ended several times in a row: change a setting, or choose Restart engine.", "error")
            self._talk.forget()
            return
        self._go_on_with_new_engine()
        self._fate = f"{reason} A new engine is started; nothing is lost."
        self._say(self._fate, "error")

    def _go_on_with_new_engine(self) -> None:
        """Put the present configuration on a new engine; after a hang while configuring, the last good one."""
        hung = self._talk.busy("configure") or self._incoming is not None
        self._talk.forget()
        self._set_incoming(None)
        self.session.update(engine="engine starting")
        self.bridge.client.restart()
        if hung and self.session.last_good not in (None, self._asked):
            self.session.return_to_last_good()
        elif self._asked is not None:
            self.preparation.begin(self._asked)

    def _say(self, message: str, kind: str) -> None:
        self.session.update(message=message, message_kind=kind)
