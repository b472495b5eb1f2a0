"""Commands that need an engine but no window: run, step, doctor. Each writes its report and returns an exit code."""

from __future__ import annotations

import argparse
import io
from collections.abc import Callable

import numpy as np

from explorer.link.messages import Check, Diagnose, Diagnosis, RunResult
from explorer.session.atomic import write_atomically
from explorer.session.attention_inputs import InputError
from explorer.session.headless import bench, doctor, report, strict_json
from explorer.session.headless.bench import Engine, OnProgress
from explorer.session.headless.options import configuration_from
from explorer.session.prepared import prepare
from explorer.session.targets import check_target

DONE, WRONG = 0, 1
Write = Callable[[str], None]


def run(arguments: argparse.Namespace, engine: Engine, write: Write, on_progress: OnProgress) -> int:
    """``tilescope run``. ``WRONG`` where the kernel's result is."""
    if arguments.save:
        check_target(arguments.save, ".npz", "--save")
    prepared = prepare(configuration_from(arguments), engine.next_id())
    configured = bench.configure(engine, prepared, on_progress)
    result = bench.run(engine, on_progress)
    if arguments.save:
        save_outputs(result, arguments.save)
    if arguments.json:
        write(strict_json.dumps(report.run_data(prepared, configured, result, jax_version(engine))))
    else:
        write(report.run_text(prepared, configured, result))
    return DONE if result.ok else WRONG


def step(arguments: argparse.Namespace, engine: Engine, write: Write, on_progress: OnProgress) -> int:
    """``tilescope step N``. ``WRONG`` where the evidence of a stage does not hold."""
    prepared = prepare(configuration_from(arguments), engine.next_id())
    configured = bench.configure(engine, prepared, on_progress)
    snapshot = bench.go_to(engine, configured, arguments.step, on_progress)
    if arguments.json:
        write(strict_json.dumps(report.step_data(prepared, configured, snapshot, jax_version(engine))))
    else:
        write(report.step_text(prepared, configured, snapshot))
    # what a TPU would refuse makes no result wrong: only what ran is judged
    wrong = any(stage.holds is False and stage.source == "execution" for stage in snapshot.stages)
    return WRONG if wrong else DONE


def diagnose(arguments: argparse.Namespace, ask_engine: Callable[[], Diagnosis], write: Write) -> int:
    """``tilescope doctor``. ``WRONG`` where a check fails; an engine that does not answer is a failed check."""
    checks = doctor.local_checks()
    try:
        checks += [Check(name=f"engine: {c.name}", ok=c.ok, detail=c.detail) for c in ask_engine().checks]
    except Exception as error:
        checks.append(Check(name="engine", ok=False, detail=f"no answer: {error}"))
    write(strict_json.dumps(doctor.report_data(checks)) if arguments.json else doctor.report_text(checks))
    return DONE if all(check.ok for check in checks) else WRONG


def ask_diagnosis(engine: Engine) -> Diagnosis:
    """The engine's own checks."""
    reply = engine.call(Diagnose(id=engine.next_id()))
    assert isinstance(reply, Diagnosis)
    return reply


def save_outputs(result: RunResult, path: str) -> None:
    """Write ``o`` and, where the kernel gives it, ``lse``, float32, in one move. Raises InputError."""
    arrays = {"o": result.o} if result.lse is None else {"o": result.o, "lse": result.lse}
    stream = io.BytesIO()
    np.savez(stream, allow_pickle=False, **{name: np.asarray(a, np.float32) for name, a in arrays.items()})
    try:
        write_atomically(path, stream.getvalue())
    except OSError as error:
        raise InputError(f"{path}: not saved: {error.strerror or error}") from error


def jax_version(engine: Engine) -> str:
    """The engine's JAX, '' before it has said."""
    return engine.hello.jax_version if engine.hello is not None else ""
