"""A configuration made ready for an engine: its input loaded, its problem built."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.link.messages import Configure
from explorer.session.attention_inputs import AttentionInputs
from explorer.session.config import Configuration
from explorer.session.inputs import load_inputs
from explorer.session.problem import build_problem, clamped_note
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


@dataclass(frozen=True, eq=False)
class Prepared:
    """A configuration with its input, as the request that an engine takes. ``notes``: one sentence each."""

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


def prepare(configuration: Configuration, request_id: int = 0) -> Prepared:
    """Load the input and build the problem. Raises InputError, ProblemError or ConfigurationError, one line."""
    inputs = load_inputs(configuration)
    problem, blocks, q, k, v = build_problem(configuration, inputs)
    request = Configure(
        id=request_id, problem=problem, blocks=blocks, kernel=configuration.kernel, chip=configuration.chip,
        q=q, k=k, v=v,
    )  # fmt: skip
    note = clamped_note(configuration, blocks)
    return Prepared(configuration, inputs, request, (*((note,) if note else ()), *inputs.notes))
