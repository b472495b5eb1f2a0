"""The observable session: what subscribers see, undo and redo, the last good settings."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from explorer.link.messages import Configured
from explorer.session.config import Configuration
from explorer.session.cursor import Cursor
from explorer.session.recent import RecentInputs
from explorer.session.session import Session
from explorer.session.state import StepState
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


class Clock:
    """Seconds that pass when told to."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def session(tmp_path: Path, clock: Clock) -> Session:
    return Session(recent=RecentInputs(tmp_path / "recent.json"), clock=clock)


def test_subscribers_see_each_change_once(session: Session) -> None:
    seen: list[StepState] = []
    end = session.subscribe(seen.append)
    session.update(message="hello", message_kind="info")
    session.update(message=session.state.message)
    assert [state.message for state in seen] == ["hello"]
    end()
    end()
    session.update(message="unheard")
    assert len(seen) == 1


def test_changes_made_while_telling_reach_all_in_order(session: Session) -> None:
    first: list[int] = []
    second: list[int] = []

    def answer(state: StepState) -> None:
        first.append(state.cursor.step)
        if state.cursor.step < 3:
            session.update(cursor=Cursor(step=state.cursor.step + 1))

    session.subscribe(answer)
    session.subscribe(lambda state: second.append(state.cursor.step))
    session.update(cursor=Cursor(step=1))
    assert first == second == [1, 2, 3]


def test_a_subscriber_that_fails_does_not_silence_the_session(session: Session) -> None:
    def fail(_: StepState) -> None:
        raise RuntimeError("view")

    end = session.subscribe(fail)
    with pytest.raises(RuntimeError, match="view"):
        session.update(playing=True)
    end()
    seen: list[StepState] = []
    session.subscribe(seen.append)
    session.update(playing=False)
    assert len(seen) == 1


def test_unknown_fields_are_refused(session: Session) -> None:
    with pytest.raises(AttributeError):
        session.update(curser=1)


def test_a_shorter_run_clamps_the_cursor(session: Session, make_configured: Callable[..., Configured]) -> None:
    session.update(cursor=Cursor(step=40, stage=3))
    session.update(configured=make_configured(AttentionProblem(q_len=4, kv_len=8, head_dim=4), BlockSizes(4, 4)))
    assert session.state.cursor == Cursor(step=1, stage=3)


def test_undo_brings_back_settings_and_cursor(session: Session, clock: Clock) -> None:
    session.update(cursor=Cursor(step=7))
    session.configure(block_q=32)
    session.update(cursor=Cursor(step=2))
    clock.now = 10
    session.configure(mask="none")
    assert session.undo_text == "Undo mask"
    assert session.undo()
    assert (session.configuration.mask, session.state.cursor.step) == (None, 2)
    assert session.undo()
    assert (session.configuration.block_q, session.state.cursor.step) == (None, 7)
    assert not session.undo()
    assert session.undo_text == ""
    assert session.redo()
    assert session.redo()
    assert (session.configuration.block_q, session.configuration.mask) == (32, "none")
    assert not session.redo()


def test_quick_changes_of_one_field_are_one_step(session: Session, clock: Clock) -> None:
    for value in (16, 32, 64):
        clock.now += 0.3
        session.configure(block_q=value)
    session.configure(block_kv=8)
    clock.now += 5
    session.configure(block_kv=16)
    session.undo()
    assert session.configuration.block_kv == 8
    session.undo()
    assert (session.configuration.block_q, session.configuration.block_kv) == (64, None)
    session.undo()
    assert session.configuration.block_q is None


def test_quick_changes_that_cancel_out_leave_nothing(session: Session, clock: Clock) -> None:
    session.configure(seed=1)
    clock.now += 0.1
    session.configure(seed=0)
    assert session.undo_text == ""


def test_a_change_after_undo_forgets_what_was_undone(session: Session, clock: Clock) -> None:
    session.configure(seed=1)
    session.undo()
    clock.now += 5
    session.configure(seed=2)
    assert not session.can_redo
    session.undo()
    assert session.configuration.seed == 0


def test_a_change_after_redo_is_a_step_of_its_own(session: Session) -> None:
    session.configure(seed=1)
    session.undo()
    session.redo()
    session.configure(seed=2)
    session.undo()
    assert session.configuration.seed == 1


def test_the_same_settings_are_no_change(session: Session) -> None:
    seen: list[StepState] = []
    session.subscribe(seen.append)
    assert not session.configure(seed=0)
    assert not session.set_configuration(Configuration())
    assert seen == []
    assert session.undo_text == ""


def test_the_last_good_settings_can_be_returned_to(session: Session) -> None:
    assert not session.return_to_last_good()
    session.mark_good()
    session.configure(block_q=0)
    assert session.last_good == Configuration()
    assert session.return_to_last_good()
    assert session.configuration == Configuration()
    session.undo()
    assert session.configuration.block_q == 0


def test_good_inputs_become_recent(session: Session) -> None:
    session.mark_good()
    session.configure(input="needle")
    session.mark_good()
    session.configure(input="wrong")
    assert session.recent.names == ("needle", "sentence-en")


_fields = st.sampled_from(["q_len", "block_q", "seed"])


@given(changes=st.lists(st.tuples(_fields, st.integers(1, 3), st.floats(0, 3)), max_size=12))
def test_undoing_everything_and_redoing_everything(changes: list[tuple[str, int, float]]) -> None:
    clock = Clock()
    session = Session(recent=RecentInputs(Path("nowhere") / "recent.json"), clock=clock)
    for field, value, seconds in changes:
        clock.now += seconds
        session.configure(**{field: value})
    after = session.configuration
    while session.undo():
        pass
    assert session.configuration == Configuration()
    while session.redo():
        pass
    assert session.configuration == after


def test_state_is_immutable(session: Session) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        session.state.playing = True  # type: ignore[misc]


def test_another_input_leaves_the_shape_of_the_old_one_open() -> None:
    session = Session()
    session.configure(q_len=8, block_q=4, mask="none", kernel="naive", seed=3)
    assert session.open_input("normal")
    now = session.configuration
    assert (now.input, now.kernel, now.seed) == ("normal", "naive", 3)
    assert (now.q_len, now.block_q, now.mask) == (None, None, None)
    assert session.undo()
    assert session.configuration.q_len == 8
