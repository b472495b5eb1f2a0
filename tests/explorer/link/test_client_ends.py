"""The client against real child processes: how engines end, and what is said of it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from explorer.link import messages as m
from explorer.link.client import EngineClient, EngineDied
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

ROOT = Path(__file__).resolve().parents[3]
LOOP = -1
"""The step at which the fake engine loops for ever, without progress."""


def goto(client: EngineClient, step: int, tag: str = "goto") -> m.GoTo:
    return m.GoTo(id=client.next_id(), step=step, tag=tag)


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_killed_by_the_system_then_started_again(engine):
    os.kill(engine.client.hello.pid, signal.SIGKILL)
    assert "signal 9" in engine.exit_reason()
    assert not engine.client.running
    assert engine.client.hello is None
    assert not engine.client.send(goto(engine.client, 1))
    engine.client.restart()
    assert isinstance(engine.next(), m.Hello)
    assert engine.client.call(goto(engine.client, 1), timeout=10)


def test_a_waiting_call_is_told_that_the_engine_died(engine):
    threading.Timer(0.2, os.kill, (engine.client.hello.pid, signal.SIGKILL)).start()
    with pytest.raises(EngineDied, match="signal 9"):
        engine.client.call(goto(engine.client, LOOP), timeout=10)
    with pytest.raises(EngineDied, match="not running"):
        engine.client.call(goto(engine.client, 1), timeout=10)


def test_an_endless_kernel_is_noticed_and_killed(engine, eventually):
    pid = engine.client.hello.pid
    assert engine.client.busy_for() == 0.0
    engine.client.send(goto(engine.client, LOOP))
    time.sleep(0.15)
    # Scrubbing on must neither wait for the engine nor make it look alive.
    start = time.perf_counter()
    for step in range(200):
        engine.client.send(goto(engine.client, step))
    assert time.perf_counter() - start < 1.0
    for _ in range(199):
        assert isinstance(engine.next(), m.Dropped)
    assert engine.client.busy_for() > 0.15
    engine.client.kill()
    assert engine.exit_reason() == "The engine was stopped."
    assert engine.client.busy_for() == 0.0
    eventually(lambda: not alive(pid))


def test_restart_out_of_an_endless_kernel_tells_only_of_the_new_engine(engine, eventually):
    pid = engine.client.hello.pid
    engine.client.send(goto(engine.client, LOOP))
    engine.client.restart()
    assert engine.next().pid != pid
    assert engine.client.call(goto(engine.client, 1), timeout=10)
    eventually(lambda: not alive(pid))
    assert engine.exits.empty()


def test_an_engine_that_ignores_sigterm_is_killed(recorder, eventually):
    one = recorder([sys.executable, "-c", "import signal, time; signal.signal(15, signal.SIG_IGN); time.sleep(60)"])
    one.client.start()
    time.sleep(0.3)
    start = time.perf_counter()
    one.client.kill()
    assert one.exit_reason() == "The engine was stopped."
    assert time.perf_counter() - start < 3


def test_busy_for_follows_the_running_request(engine):
    engine.client.send(goto(engine.client, -3, tag="a"))
    engine.client.send(goto(engine.client, 1, tag="b"))
    time.sleep(0.1)
    assert engine.client.busy_for() >= 0.1
    engine.next()
    engine.next()
    assert engine.client.busy_for() == 0.0


def test_close_ends_the_process_also_within_a_loop(engine, eventually):
    pid = engine.client.hello.pid
    engine.client.send(goto(engine.client, LOOP))
    engine.client.close()
    assert not alive(pid)
    assert engine.exits.empty()


def test_an_abort_is_explained(engine):
    engine.client.send(m.Run(id=engine.client.next_id(), tag="crash"))
    assert engine.exit_reason() == "The engine was stopped by signal 6 (aborted)."


def test_want_of_memory_that_ends_the_engine_is_explained(engine):
    engine.client.send(m.Run(id=engine.client.next_id(), tag="alloc"))
    assert "ran out of memory" in engine.exit_reason()


def test_a_command_that_does_not_exist(recorder):
    one = recorder(["no-such-command-at-all"])
    one.client.start()
    assert one.exit_reason() == "The engine could not start: command not found: no-such-command-at-all"


def test_a_command_not_found_on_the_other_side(recorder):
    one = recorder(["sh", "-c", "echo 'sh: tilescope: not found' >&2; exit 127"])
    one.client.start()
    assert one.exit_reason().endswith("command not found or not executable: sh: tilescope: not found")


def test_an_engine_that_cannot_start_says_why(recorder, tmp_path):
    script = tmp_path / "engine.py"
    script.write_text(
        f"import sys; sys.path.insert(0, {str(ROOT)!r})\n"
        "from explorer.link import server\n"
        "def hello(): raise ImportError('no jaxlib for this machine')\n"
        "sys.exit(server.serve(*server.protected_streams(), object, hello))\n"
    )
    one = recorder([sys.executable, str(script)])
    one.client.start()
    assert one.exit_reason() == "The engine could not start: ImportError: no jaxlib for this machine"


def test_another_protocol_version_is_said_clearly(recorder, future_engine):
    one = recorder(future_engine)
    one.client.start()
    assert one.exit_reason() == (
        "The engine speaks protocol 99, this window 1: install the same Tilescope on both sides."
    )


def test_a_first_message_of_an_unknown_kind_means_another_version(recorder):
    body = b"\x81\xa4type\xa3Hey"
    stream = len(body).to_bytes(8, "little") + body
    script = f"import sys, time; sys.stdout.buffer.write({stream!r}); sys.stdout.flush(); time.sleep(60)"
    one = recorder([sys.executable, "-c", script])
    one.client.start()
    assert "does not speak this version's protocol (1)" in one.exit_reason()


def test_a_greeting_on_standard_output_is_shown(recorder):
    one = recorder(["sh", "-c", "echo Welcome to tpu-vm; sleep 60"])
    one.client.start()
    assert one.exit_reason() == (
        "The engine's output is not readable: it holds something that is no Tilescope message: 'Welcome '"
    )


def test_a_truncated_message_is_an_end(recorder):
    one = recorder(["sh", "-c", r"printf '\144\0\0\0\0\0\0\0abc'"])
    one.client.start()
    assert one.exit_reason() == "The engine ended by itself."


@pytest.mark.parametrize("how", ["return", "SIGKILL"])
def test_children_never_outlive_the_parent(how, fake_engine, eventually):
    """With an engine inside an endless kernel, that reads its input no more in the thread that works."""
    parent = textwrap.dedent(f"""
        import os, sys, time
        sys.path.insert(0, {str(ROOT)!r})
        from explorer.link.client import EngineClient
        from explorer.link.messages import GoTo
        client = EngineClient({fake_engine!r})
        client.start()
        while client.hello is None:
            time.sleep(0.01)
        client.send(GoTo(id=client.next_id(), step={LOOP}))
        print(client.hello.pid, flush=True)
        if {how!r} == "SIGKILL":
            os.kill(os.getpid(), 9)
    """)
    result = subprocess.run([sys.executable, "-c", parent], capture_output=True, text=True, timeout=30, check=False)
    assert result.stderr == ""
    eventually(lambda: not alive(int(result.stdout)))


def test_an_engine_that_dies_amid_a_large_request(engine):
    """The writer is inside a write that will never end."""
    pid = engine.client.hello.pid
    os.kill(pid, signal.SIGSTOP)
    inputs = np.zeros(4 << 20, np.float32)
    request = m.Configure(
        id=engine.client.next_id(),
        problem=AttentionProblem(q_len=1, kv_len=1, head_dim=1),
        blocks=BlockSizes(),
        kernel="flash",
        chip="v5e",
        q=inputs,
        k=inputs,
        v=inputs,
    )
    start = time.perf_counter()
    assert engine.client.send(request)
    assert time.perf_counter() - start < 0.1
    time.sleep(0.1)
    os.kill(pid, signal.SIGKILL)
    assert "signal 9" in engine.exit_reason()


def test_the_engine_of_this_installation_starts(recorder, monkeypatch, tmp_path):
    """The real one, with JAX, from a folder that is not the project's."""
    monkeypatch.setenv("JAX_PLATFORMS", "cpu")
    monkeypatch.chdir(tmp_path)
    one = recorder(None)
    hello = one.hello()
    assert (hello.protocol, hello.platform) == (m.PROTOCOL_VERSION, "cpu")
    assert one.client.call(m.Diagnose(id=one.client.next_id()), timeout=60).checks
    one.client.close()
    assert not alive(hello.pid)


def test_the_window_side_loads_no_jax():
    imports = "import sys, explorer.link.messages, explorer.link.codec, explorer.link.client, explorer.link.server"
    code = imports + "; print(sorted({'jax', 'jaxlib', 'PySide6'} & set(sys.modules)))"
    command = [sys.executable, "-c", code]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=30, check=True)
    assert result.stdout == "[]\n"
