"""The client against real child processes: requests and their answers."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

from explorer.link import messages as m
from explorer.link.client import EngineClient, EngineFailed
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

REPORT = -2
"""The step at which the fake engine goes on for long, with progress."""


def goto(client: EngineClient, step: int, tag: str = "goto") -> m.GoTo:
    return m.GoTo(id=client.next_id(), step=step, tag=tag)


def test_call_returns_the_answer(engine):
    reply = engine.client.call(goto(engine.client, 5), timeout=10)
    assert [check.name for check in reply.checks] == ["5"]
    assert engine.client.hello.platform == "fake"


def test_sent_requests_are_answered_through_the_callback(engine):
    request = goto(engine.client, 3)
    assert engine.client.send(request)
    assert engine.next().id == request.id


def test_arrays_of_a_problem_arrive_whole(engine):
    mask, bias = np.eye(4, 6, dtype=bool)[None, None], np.full((1, 1, 1, 6), -np.inf, np.float32)
    problem = AttentionProblem(
        q_len=4, kv_len=6, head_dim=8, batch=2, heads=3, mask=mask, bias=bias, kv_lengths=np.array([6, 2], np.int32)
    )
    request = m.ListKernels(id=engine.client.next_id(), problem=problem, blocks=BlockSizes())
    reply = engine.client.call(request, timeout=10)
    assert reply.id == request.id  # the server puts right what the workbench got wrong
    assert (reply.batch, reply.head) == (2, 3)
    np.testing.assert_array_equal(reply.q, mask)
    np.testing.assert_array_equal(reply.k, bias)
    np.testing.assert_array_equal(reply.v, [6, 2])


def test_64_mib_arrive_quickly(engine):
    start = time.perf_counter()
    reply = engine.client.call(m.Measure(id=engine.client.next_id(), repeats=64), timeout=20)
    assert reply.q.nbytes == 64 << 20
    assert reply.q[-1] == np.float32((64 << 18) - 1)
    assert time.perf_counter() - start < 3.0


def test_progress_comes_at_most_about_twenty_times_a_second(engine):
    seen: list[m.Progress] = []
    start = time.perf_counter()
    engine.client.call(m.Diagnose(id=engine.client.next_id()), timeout=20, on_progress=seen.append)
    seconds = time.perf_counter() - start
    assert 2 <= len(seen) <= seconds / 0.05 + 1
    assert seen[0].text == "step"
    assert seen[0].total == 400


def test_failures_are_one_line_and_keep_the_traceback_apart(engine):
    with pytest.raises(EngineFailed, match=r"^ZeroDivisionError: first line$") as caught:
        engine.client.call(m.Run(id=engine.client.next_id()), timeout=10)
    assert caught.value.failed.kind == "internal"
    assert "Traceback" in caught.value.failed.details


def test_a_workbench_error_keeps_its_kind(engine):
    with pytest.raises(EngineFailed, match=r"^the head does not exist$") as caught:
        engine.client.call(m.GetStrips(id=engine.client.next_id(), batch=0, head=9), timeout=10)
    assert caught.value.failed.kind == "input"


def test_want_of_memory_is_told_apart(engine):
    with pytest.raises(EngineFailed, match="Not enough memory") as caught:
        engine.client.call(m.Run(id=engine.client.next_id(), tag="memory"), timeout=10)
    assert caught.value.failed.kind == "memory"


def test_an_answer_that_cannot_be_encoded_fails_alone(engine):
    with pytest.raises(EngineFailed, match="object"):
        engine.client.call(m.Run(id=engine.client.next_id(), tag="array of objects"), timeout=10)
    assert engine.client.call(goto(engine.client, 1), timeout=10)


def test_sys_exit_in_a_kernel_is_a_failure_not_an_end(engine):
    with pytest.raises(EngineFailed, match="SystemExit"):
        engine.client.call(m.Run(id=engine.client.next_id(), tag="exit"), timeout=10)
    assert engine.client.call(goto(engine.client, 1), timeout=10)


def test_a_request_that_cannot_be_encoded_fails_alone(engine):
    bad = m.Configure(
        id=engine.client.next_id(),
        problem=AttentionProblem(q_len=1, kv_len=1, head_dim=1),
        blocks=BlockSizes(),
        kernel="flash",
        chip="v5e",
        q=np.array([object()]),
    )
    with pytest.raises(EngineFailed, match="cannot be sent") as caught:
        engine.client.call(bad, timeout=10)
    assert caught.value.failed.kind == "input"
    assert engine.client.call(goto(engine.client, 1), timeout=10)


def test_prints_and_reads_in_a_kernel_do_not_touch_the_stream(engine):
    request = m.GetMatrix(id=engine.client.next_id(), kind="difference", batch=0, head=0, step=0)
    assert engine.client.call(request, timeout=10).checks[0].ok
    assert engine.client.call(goto(engine.client, 1), timeout=10)


def test_the_newest_request_of_a_tag_wins(engine):
    first = goto(engine.client, -3, tag="busy")  # keeps the worker for 0.3 s
    waiting = [goto(engine.client, step) for step in (1, 2, 3)]
    for request in [first, *waiting]:
        engine.client.send(request)
    replies = [engine.next() for _ in range(4)]
    assert [reply.id for reply in replies if isinstance(reply, m.Dropped)] == [waiting[0].id, waiting[1].id]
    assert [check.name for check in replies[-1].checks] == ["-3", "3"]


def test_requests_without_a_tag_replace_nothing(engine):
    requests = [goto(engine.client, step, tag="") for step in (-3, 1, 2)]
    for request in requests:
        engine.client.send(request)
    assert [engine.next().id for _ in requests] == [request.id for request in requests]


def test_a_newer_request_stops_the_running_one_of_its_tag(engine):
    running, newer = goto(engine.client, REPORT), goto(engine.client, 4)
    engine.client.send(running)
    assert isinstance(engine.next(), m.Progress)
    engine.client.send(newer)
    stopped = engine.next_answer()
    assert isinstance(stopped, m.Dropped)
    assert stopped.id == running.id
    assert engine.next_answer().id == newer.id


def test_cancel_stops_the_running_request(engine):
    running = goto(engine.client, REPORT)
    engine.client.send(running)
    assert isinstance(engine.next(), m.Progress)
    engine.client.cancel(running.id)
    stopped = engine.next_answer()
    assert (stopped.id, stopped.kind) == (running.id, "cancelled")


def test_cancel_drops_a_waiting_request(engine):
    running, waiting = goto(engine.client, -3, tag="busy"), goto(engine.client, 2)
    engine.client.send(running)
    engine.client.send(waiting)
    engine.client.cancel(waiting.id)
    first, second = engine.next(), engine.next()
    assert (first.id, first.kind) == (waiting.id, "cancelled")
    assert [check.name for check in second.checks] == ["-3"]


def test_call_in_vain_cancels_and_says_so(engine):
    with pytest.raises(TimeoutError, match=r"within 0\.2 s"):
        engine.client.call(goto(engine.client, REPORT), timeout=0.2)
    assert engine.client.call(goto(engine.client, 1), timeout=10)
    assert engine.messages.empty()
    assert engine.client.busy_for() == 0.0


def test_call_in_a_callback_is_refused(recorder, fake_engine):
    one = recorder(fake_engine)
    errors: list[BaseException] = []
    done = threading.Event()

    def call_back(_: object) -> None:
        try:
            one.client.call(goto(one.client, 1), timeout=1)
        except RuntimeError as error:
            errors.append(error)
        done.set()

    one.client._on_message = call_back
    one.client.start()
    assert done.wait(10)
    assert "would wait for itself" in str(errors[0])


def test_a_callback_that_raises_does_not_end_the_conversation(recorder, fake_engine, caplog):
    one = recorder(fake_engine)
    one.client._on_message = lambda message: 1 / 0
    one.client.start()
    assert one.client.call(goto(one.client, 1), timeout=10)
    assert "on_message callback failed" in caplog.text


def test_the_inputs_of_a_replaced_configure_are_kept(engine):
    def configure(kernel: str, q: np.ndarray | None) -> m.Configure:
        problem = AttentionProblem(q_len=1, kv_len=1, head_dim=1)
        return m.Configure(
            id=engine.client.next_id(), problem=problem, blocks=BlockSizes(), kernel=kernel, chip="v5e", q=q, k=q, v=q
        )

    inputs = np.arange(6, dtype=np.float32).reshape(2, 3)
    engine.client.send(configure("slow", np.zeros(1, np.float32)))
    engine.client.send(configure("slow", inputs))
    reply = engine.client.call(configure("flash", None), timeout=10)
    np.testing.assert_array_equal(reply.q, inputs)
