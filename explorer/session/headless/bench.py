"""Putting a configuration on an engine's bench from the command line."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol, TypeVar

from explorer.link.client import EngineFailed
from explorer.link.messages import (
    AnyRequest,
    Configure,
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
from explorer.session.attention_inputs import AttentionInputs
from explorer.session.config import Configuration
from explorer.session.inputs import load_inputs
from explorer.session.problem import build_problem, clamped_note
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem, ProblemError

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


@dataclass(frozen=True, eq=False)
class Prepared:
    """A configuration with its input and problem: nothing of the engine yet."""

    configuration: Configuration
    inputs: AttentionInputs
    configure: Configure
    notes: tuple[str, ...]

    @property
    def problem(self) -> AttentionProblem:
        return self.configure.problem

    @property
    def blocks(self) -> BlockSizes:
        return self.configure.blocks


def prepare(configuration: Configuration, request_id: int) -> Prepared:
    """Load the input and build the problem. Raises InputError or ProblemError, one line."""
    inputs = load_inputs(configuration)
    problem, blocks, q, k, v = build_problem(configuration, inputs)
    request = Configure(
        id=request_id, problem=problem, blocks=blocks, kernel=configuration.kernel, chip=configuration.chip,
        q=q, k=k, v=v,
    )  # fmt: skip
    note = clamped_note(configuration, blocks)
    return Prepared(configuration, inputs, request, (*((note,) if note else ()), *inputs.notes))


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
