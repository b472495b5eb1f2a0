"""The queue of the engine: order, replacement, cancel, and inputs that are not lost."""

from __future__ import annotations

import threading

import numpy as np
import pytest

from explorer.link.inbox import Inbox
from explorer.link.messages import Configure, GetMatrix, GoTo, Measure, Run
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


def configure(id: int, q: np.ndarray | None = None) -> Configure:
    problem = AttentionProblem(q_len=2, kv_len=2, head_dim=1)
    return Configure(id=id, problem=problem, blocks=BlockSizes(), kernel="flash", chip="v5e", q=q, k=q, v=q)


def test_requests_are_taken_in_order():
    inbox = Inbox()
    for request in (GoTo(id=1, step=0), Run(id=2), GetMatrix(id=3, kind="difference", batch=0, head=0, step=0)):
        assert inbox.put(request) == []
    assert [inbox.take().id for _ in range(3)] == [1, 2, 3]


def test_a_newer_request_of_the_tag_goes_to_the_end():
    """GoTo 5 was sent after all the others, and means what they leave."""
    inbox = Inbox()
    inbox.put(Run(id=1, tag="other"))
    inbox.put(configure(2))
    inbox.put(GoTo(id=3, step=0))
    inbox.put(Run(id=4))
    assert inbox.put(GoTo(id=5, step=5)) == [GoTo(id=3, step=0)]
    assert [inbox.take().id for _ in range(4)] == [1, 2, 4, 5]


def test_a_configure_makes_older_looks_at_the_configuration_needless():
    inbox = Inbox()
    inbox.put(Measure(id=1))
    inbox.take()
    inbox.put(GoTo(id=2, step=0))
    inbox.put(Run(id=3))
    assert inbox.put(configure(4)) == [GoTo(id=2, step=0)]
    assert inbox.superseded
    inbox.done()
    assert [inbox.take().id for _ in range(2)] == [3, 4]


def test_a_configure_leaves_a_whole_run_alone():
    inbox = Inbox()
    inbox.put(Run(id=1))
    inbox.take()
    inbox.put(configure(2))
    assert not inbox.stop_asked


def test_no_tag_no_replacement():
    inbox = Inbox()
    assert inbox.put(Run(id=1, tag="")) == []
    assert inbox.put(Run(id=2, tag="")) == []
    assert [inbox.take().id for _ in range(2)] == [1, 2]


@pytest.mark.parametrize(("tag", "stops"), [("goto", True), ("other", False), ("", False)])
def test_a_newer_request_stops_the_running_one_where_its_tag_allows(tag, stops):
    inbox = Inbox()
    inbox.put(GoTo(id=1, step=0, tag=tag))
    inbox.take()
    assert not inbox.stop_asked
    inbox.put(GoTo(id=2, step=1, tag=tag))
    assert inbox.stop_asked is stops
    assert inbox.superseded is stops
    inbox.done()
    assert inbox.take().id == 2
    assert not inbox.stop_asked


def test_cancel_wins_over_a_newer_request():
    inbox = Inbox()
    inbox.put(GoTo(id=1, step=0))
    inbox.take()
    inbox.put(GoTo(id=2, step=1))
    assert inbox.cancel(1) is None
    assert inbox.stop_asked
    assert not inbox.superseded


def test_cancel_of_what_is_done_or_unknown_does_nothing():
    inbox = Inbox()
    inbox.put(GoTo(id=1, step=0))
    inbox.take()
    inbox.done()
    assert inbox.cancel(1) is None
    assert inbox.cancel(99) is None
    assert not inbox.stop_asked


def test_cancel_among_waiting_requests_that_hold_arrays():
    inbox = Inbox()
    inbox.put(configure(1, np.zeros(3)))
    inbox.put(Run(id=2))
    assert inbox.cancel(2) == Run(id=2)
    assert inbox.take().id == 1


def test_inputs_stay_with_the_configures_that_follow():
    inbox = Inbox()
    inputs = np.arange(3.0)
    inbox.put(configure(1, inputs))
    inbox.put(configure(2))
    taken = inbox.take()
    assert isinstance(taken, Configure)
    assert taken.id == 2
    assert taken.q is inputs
    assert taken.v is inputs


def test_a_first_configure_without_inputs_stays_without():
    inbox = Inbox()
    inbox.put(configure(1))
    taken = inbox.take()
    assert isinstance(taken, Configure)
    assert taken.q is None


def test_take_waits_for_a_request():
    inbox = Inbox()
    threading.Timer(0.05, inbox.put, (Run(id=7),)).start()
    assert inbox.take().id == 7
