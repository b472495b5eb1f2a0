"""Putting a configuration on an engine's bench from the command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar

from explorer.link.client import EngineFailed
from explorer.link.messages import (
    AnyRequest,
    Configured,
    GoTo,
    Hello,
    KernelList,
    ListKernels,
    Progress,
    Reply,
    Run,
    RunResult,
    Snapshot,
)
from explorer.session.prepared import Prepared
from kernels.problem import ProblemError

OnProgress = Callable[[Progress], None]
R = TypeVar("R", bound=Reply)


class Engine(Protocol):
    """What the commands need of ``explorer.link.client.EngineClient``."""

    @property
    def hello(self) -> Hello | None: ...
    def next_id(self) -> int: ...
    def call(
        self, request: AnyRequest, timeout: float | None = None, on_progress: OnProgress | None = None
    ) -> Reply: ...


def configure(engine: Engine, prepared: Prepared, on_progress: OnProgress | None = None) -> Configured:
    """Have the engine take the problem.

    Raises ProblemError where the kernel cannot, naming those that can; what else the engine raises comes through.
    """
    try:
        return _expect(Configured, engine.call(prepared.configure, on_progress=on_progress))
    except EngineFailed as error:
        if error.failed.kind != "kernel":
            raise
        others = kernels_that_can(engine, prepared)
        offer = f"kernels that can take this: {', '.join(others)}" if others else "no kernel here can take this"
        raise ProblemError(f"{error.failed.message}; {offer}") from error


def run(engine: Engine, on_progress: OnProgress | None = None) -> RunResult:
    """Run the configured kernel whole."""
    return _expect(RunResult, engine.call(Run(id=engine.next_id()), on_progress=on_progress))


def go_to(engine: Engine, configured: Configured, step: int, on_progress: OnProgress | None = None) -> Snapshot:
    """Drive to a grid step. Raises ProblemError where the kernel has no such step."""
    if not configured.driven:
        raise ProblemError(configured.reason_not_driven)
    if not 0 <= step < configured.steps:
        raise ProblemError(f"step {step} is not there: this run has steps 0 to {configured.steps - 1}")
    return _expect(Snapshot, engine.call(GoTo(id=engine.next_id(), step=step), on_progress=on_progress))


def kernels_that_can(engine: Engine, prepared: Prepared) -> tuple[str, ...]:
    """Names of the kernels that do not refuse the problem, without the one that was asked for."""
    request = ListKernels(id=engine.next_id(), problem=prepared.problem, blocks=prepared.blocks)
    listed = _expect(KernelList, engine.call(request))
    asked = prepared.configuration.kernel
    return tuple(kernel.name for kernel in listed.kernels if not kernel.refusal and kernel.name != asked)


def _expect(kind: type[R], reply: object) -> R:
    if not isinstance(reply, kind):
        raise TypeError(f"the engine answered {type(reply).__name__} where {kind.__name__} was due")
    return reply
