"""Drives a captured kernel by grid step: forward, back, or by a jump."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from explorer.engine.bits import same_bits
from explorer.engine.errors import DriveError
from explorer.engine.instrument import Carry, Ran
from explorer.engine.keyframes import Keyframes
from explorer.engine.output_store import OutputStore
from explorer.engine.program import Equation, Program
from explorer.engine.progress import Progress, silent
from explorer.engine.restarts import Restarts
from explorer.engine.runner import Runner

CHUNK = 32
"""Grid steps run together without probes, and so the usual distance between keyframes."""
_CHUNK_BYTES = 4 << 20
KEYFRAME_BYTES = 256 << 20


@dataclass(frozen=True, eq=False)
class StepRecord:
    """One grid step, after it ran. Arrays are NumPy, read-only, in the kernel's own dtypes.

    values: by equation index, for those probed equations that ran; loops of known length give leading trip axes.
    executed: by equation index, for all probed equations. scratch_before, scratch_after: by scratch name.
    blocks: by input name, the block that the kernel read. outputs: by output name, its block after the step.
    seconds: wall time of the probed step, every result waited for.
    probes_exact: whether the step with the probes left the very bits of the step without them in scratch and outputs
    (which are those of the step without). If not, ``values`` may differ from what ran in the last bit or two.
    """

    step: int
    coords: tuple[int, ...]
    values: dict[int, np.ndarray] = field(repr=False)
    executed: dict[int, bool] = field(repr=False)
    scratch_before: dict[str, np.ndarray] = field(repr=False)
    scratch_after: dict[str, np.ndarray] = field(repr=False)
    blocks: dict[str, np.ndarray] = field(repr=False)
    outputs: dict[str, np.ndarray] = field(repr=False)
    seconds: float
    probes_exact: bool


class Driver:
    """Runs any grid step of a program, replaying no more than it must.

    probes: "all" floating-point equations, "none", or equation indices (of any array-valued equation).
    chunk: grid steps run together on the way; None chooses by the size of the blocks.
    keyframe_bytes: what kept carries may take. Raises DriveError for probes that there are not.
    """

    def __init__(
        self,
        program: Program,
        probes: str | Iterable[int] = "all",
        *,
        chunk: int | None = None,
        keyframe_bytes: int = KEYFRAME_BYTES,
    ) -> None:
        self.program = program
        self.probed = choose_probes(program, probes)
        self.chunk = chunk or _chunk_for(program)
        self._store = OutputStore(program)
        self._runner = Runner(program, self._store, self.chunk)
        self._keyframes = Keyframes(self._runner.first_carry(), keyframe_bytes)
        self._restarts = Restarts(self._runner, self._store)
        self._latest: tuple[int, Carry] = self._keyframes.nearest(0)
        self._record: StepRecord | None = None

    @property
    def compile_seconds(self) -> float:
        """Seconds spent compiling so far."""
        return self._runner.compile_seconds

    def step(self, step: int, progress: Progress = silent, *, stop: int | None = None) -> StepRecord:
        """The record of a grid step, run now. ``stop``: leave out the values of equations after this index.

        Raises DriveError for a step that there is not, or whose kernel raises; what ``progress`` raises passes
        through.
        """
        if not 0 <= step < self.program.steps:
            raise DriveError(f"{self.program.name} has grid steps 0 to {self.program.steps - 1}, not {step}")
        before = self._carry_into(step, progress)
        ready = self._runner.begin_blocks(before, step)
        ran = self._runner.run(ready, step)
        seen, seconds = self._observe(ready, step, ran)
        self._keep_finished(step, 1, ran)
        self._latest = (step + 1, ran.carry)
        self._record = self._as_record(step, before, ran, seen, seconds)
        return self._record if stop is None else _until(self._record, stop)

    def outputs_so_far(
        self, start: int | None = None, stop: int | None = None, progress: Progress = silent
    ) -> dict[str, np.ndarray]:
        """The output arrays by name, in their own shape and dtype; NaN where nothing known has been written.

        Without arguments: as they stand after the last ``step``, its unfinished blocks included. With ``start`` and
        ``stop``: as they stand before step ``stop``, and what is missing of steps ``start`` to ``stop - 1`` is run.
        The arrays are read-only views that the next call changes.
        """
        if start is None and stop is None:
            after = 0 if self._record is None else self._record.step + 1
            current = None if self._record is None else list(self._record.outputs.values())
            return self._named_outputs(self._store.arrays_at(after, current))
        stop = self.program.steps if stop is None else stop
        self.ensure_outputs(start or 0, stop, progress)
        return self._named_outputs(self._store.arrays_at(stop))

    def ensure_outputs(self, start: int, stop: int, progress: Progress = silent) -> None:
        """Run, without probes, what is needed to know every output block finished in steps start..stop-1."""
        done = start
        for first, last in self._store.missing(start, stop):
            if last < done:
                continue
            carry = self._carry_into(max(first, done), progress)
            self._advance(carry, max(first, done), last + 1, progress)
            done = last + 1

    def is_known(self, name: str, step: int) -> bool:
        """Whether the block of an output that ``step`` works on has been run to its end. Raises ValueError."""
        return self._store.is_known([item.name for item in self.program.outputs].index(name), step)

    def run(self, progress: Progress = silent) -> Any:
        """Drive every step and return what the captured function returns, as it returns it."""
        self.ensure_outputs(0, self.program.steps, progress)
        arrays = self._store.arrays_at(self.program.steps)
        return self.program.finish([np.array(array) for array in arrays])

    def row_block_of(self, step: int) -> tuple[int, int]:
        """First step, and one past the last, of the run of steps that share every output's block with ``step``."""
        first = max(int(runs.first[runs.run_of[step]]) for runs in self._store.runs)
        last = min(int(runs.last[runs.run_of[step]]) for runs in self._store.runs)
        return first, last + 1

    def time_step(self, step: int, probed: bool) -> float:
        """Seconds of one grid step: bare, or as ``step`` runs it (bare and again with the probes)."""
        ready = self._runner.begin_blocks(self._carry_into(step, silent), step)
        self._runner.compile_for(ready, ())
        if probed:
            self._runner.compile_for(ready, self.probed)
        began = time.perf_counter()
        ran = self._runner.run(ready, step)
        if probed:
            self._observe(ready, step, ran)
        return time.perf_counter() - began

    def _observe(self, ready: Carry, step: int, ran: Ran) -> tuple[Ran, float]:
        """The same step again with the probes, and its seconds.

        Not taken for the run itself: keeping an intermediate value keeps XLA from fusing across it, and a multiply and
        an add that are no longer contracted into one instruction can differ in the last bit.
        """
        if not self.probed:
            return ran, 0.0
        self._runner.compile_for(ready, self.probed)
        began = time.perf_counter()
        seen = self._runner.run(ready, step, 1, self.probed)
        return seen, time.perf_counter() - began

    def _carry_into(self, step: int, progress: Progress) -> Carry:
        """What step ``step`` finds, from the nearest place where it is known."""
        at, carry = self._keyframes.nearest(step)
        if at < self._latest[0] <= step:
            at, carry = self._latest
        restart = self._restarts.before(step, after=at)
        if restart is not None:
            at, carry = restart, self._runner.first_carry()
        return self._advance(carry, at, step, progress)

    def _advance(self, carry: Carry, at: int, stop: int, progress: Progress) -> Carry:
        total = stop - at
        while at < stop:
            progress(f"running {self.program.name}", total - (stop - at), total)
            count = self._uninterrupted(at, min(self.chunk, stop - at))
            ran = self._runner.run(self._runner.begin_blocks(carry, at), at, count)
            self._keep_finished(at, count, ran)
            at, carry = at + count, ran.carry
            self._keyframes.keep(at, carry)
        return carry

    def _uninterrupted(self, first: int, count: int) -> int:
        """How many steps can run together: an output block that is come back to must be put in between."""
        for runs in self._store.runs if self._store.revisits else ():
            for step in range(first + 1, first + count):
                if runs.begins(step) and runs.previous[runs.run_of[step]] >= 0:
                    count = step - first
                    break
        return count

    def _keep_finished(self, first: int, count: int, ran: Ran) -> None:
        for output, runs in enumerate(self._store.runs):
            for step in range(first, first + count):
                run = int(runs.run_of[step])
                if runs.last[run] == step:
                    self._store.keep(output, run, np.asarray(ran.stacks[output])[step - first])

    def _as_record(self, step: int, before: Carry, ran: Ran, seen: Ran, seconds: float) -> StepRecord:
        flags = np.asarray(seen.flags[0])[0] if seen.flags else np.zeros(0, np.int32)
        executed = {equation.index: bool(flags[equation.region]) for equation in self.probed}
        values = {
            equation.index: _value(equation, stored)
            for equation, stored in zip(self.probed, seen.probes, strict=True)
            if executed[equation.index]
        }
        inputs = zip(self.program.inputs, ran.blocks, strict=True)
        return StepRecord(
            step=step,
            coords=self.program.coords(step),
            values=values,
            executed=executed,
            scratch_before=self._named_scratch(before),
            scratch_after=self._named_scratch(ran.carry),
            blocks={item.name: np.asarray(block)[0].reshape(item.ref_shape) for item, block in inputs},
            outputs=self._named_outputs(ran.carry.outputs),
            seconds=seconds,
            probes_exact=all(map(same_bits, _flat(ran.carry), _flat(seen.carry))),
        )

    def _named_scratch(self, carry: Carry) -> dict[str, np.ndarray]:
        names = [item.name for item in self.program.scratch if item.carried]
        return {name: np.asarray(array) for name, array in zip(names, carry.scratch, strict=True)}

    def _named_outputs(self, arrays: Sequence[Any]) -> dict[str, np.ndarray]:
        return {item.name: np.asarray(a) for item, a in zip(self.program.outputs, arrays, strict=True)}


def choose_probes(program: Program, probes: str | Iterable[int]) -> tuple[Equation, ...]:
    """The equations that "all", "none" or indices name. Raises DriveError."""
    if probes == "all":
        return tuple(equation for equation in program.equations if equation.is_float)
    if probes == "none":
        return ()
    wanted = {probes} if isinstance(probes, str) else set(probes)
    unknown = wanted - {equation.index for equation in program.equations}
    if unknown:
        raise DriveError(f"{program.name} has no equations {sorted(unknown, key=str)}: it has {len(program.equations)}")
    return tuple(equation for equation in program.equations if equation.index in wanted)


def _chunk_for(program: Program) -> int:
    """As many steps as stay within a budget of gathered bytes, CHUNK at most."""
    each = sum(int(np.prod(item.block_shape)) * item.dtype.itemsize for item in program.operands)
    return int(np.clip(_CHUNK_BYTES // max(each, 1), 2, CHUNK))


def _flat(carry: Carry) -> list[np.ndarray]:
    return [np.asarray(array) for part in carry for array in part]


def _value(equation: Equation, stored: Any) -> np.ndarray:
    return np.asarray(stored).reshape((*equation.trips, *equation.shape)).astype(equation.dtype, copy=False)


def _until(record: StepRecord, stop: int) -> StepRecord:
    values = {index: value for index, value in record.values.items() if index <= stop}
    executed = {index: ran for index, ran in record.executed.items() if index <= stop}
    return StepRecord(**{**record.__dict__, "values": values, "executed": executed})
