"""Output blocks as grid steps finish them, and the output arrays as they stand at any step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from explorer.engine import _jax_internals as internals
from explorer.engine.index_maps import block_starts
from explorer.engine.program import Operand, Program


class OutputRuns:
    """The runs of consecutive grid steps that hold one output's block: when they begin and end, and where they write.

    run_of: int32 (steps,). first, last: int64 (runs,). previous: the last run before this one with the same block,
    -1 where there is none. starts: int32 (runs, ndim), first element of the block.
    """

    def __init__(self, operand: Operand, indices: np.ndarray) -> None:
        moved = (indices[1:] != indices[:-1]).any(axis=1)
        self.operand = operand
        self.run_of = np.concatenate([[0], np.cumsum(moved)]).astype(np.int32)
        self.first = np.concatenate([[0], np.flatnonzero(moved) + 1])
        self.last = np.concatenate([self.first[1:] - 1, [len(indices) - 1]])
        self.starts = block_starts(operand, indices[self.first])
        _, self.block_of = np.unique(indices[self.first], axis=0, return_inverse=True)
        self.block_of = self.block_of.reshape(-1)
        self.previous = _previous_with_same(self.block_of)

    @property
    def revisits(self) -> bool:
        """Whether a block is visited again after the kernel has left it."""
        return bool((self.previous >= 0).any())

    def begins(self, step: int) -> bool:
        """Whether a step is the first of its run."""
        return int(self.first[self.run_of[step]]) == step


def _previous_with_same(blocks: np.ndarray) -> np.ndarray:
    previous = np.full(len(blocks), -1, np.int64)
    order = np.argsort(blocks, kind="stable")
    same = blocks[order[1:]] == blocks[order[:-1]]
    previous[order[1:][same]] = order[:-1][same]
    return previous


class OutputStore:
    """Finished blocks of every output, and one array of each that is moved between steps by its differences."""

    def __init__(self, program: Program) -> None:
        self.runs = tuple(OutputRuns(item, program.block_indices(item)) for item in program.outputs)
        self._blocks: tuple[dict[int, np.ndarray], ...] = tuple({} for _ in self.runs)
        self._arrays = tuple(_base(program, position) for position in range(len(self.runs)))
        self._bases = tuple(array.copy() if program.aliases else None for array in self._arrays)
        self._shown = tuple(np.zeros(len(run.first), bool) for run in self.runs)
        self._known = tuple(np.zeros(len(run.first), bool) for run in self.runs)
        self._unfinished: list[int | None] = [None] * len(self.runs)

    @property
    def revisits(self) -> bool:
        """Whether any output's block is visited again after the kernel has left it."""
        return any(run.revisits for run in self.runs)

    def keep(self, output: int, run: int, block: Any) -> None:
        """Keep the block of a finished run."""
        self._blocks[output][run] = np.array(block).reshape(self.runs[output].operand.block_shape)
        self._known[output][run] = True

    def block(self, output: int, run: int) -> np.ndarray:
        """A finished run's block, in the shape of the kernel's reference."""
        return self._blocks[output][run].reshape(self.runs[output].operand.ref_shape)

    def is_known(self, output: int, step: int) -> bool:
        """Whether the run of an output's block that ``step`` belongs to has been finished."""
        return bool(self._known[output][self.runs[output].run_of[step]])

    def missing(self, start: int, stop: int) -> list[tuple[int, int]]:
        """(first, last) steps of runs that end in steps start..stop-1 and are not known, in order."""
        found: set[tuple[int, int]] = set()
        for run, known in zip(self.runs, self._known, strict=True):
            wanted = (run.last >= start) & (run.last < stop) & ~known
            found.update(zip(run.first[wanted].tolist(), run.last[wanted].tolist(), strict=True))
        return sorted(found)

    def arrays_at(self, stop: int, current: Sequence[Any] | None = None) -> tuple[np.ndarray, ...]:
        """The outputs after step ``stop - 1``, as far as runs are known; ``current``: blocks still in the kernel.

        Views, read-only, of arrays that the next call changes.
        """
        for position, run in enumerate(self.runs):
            wanted = self._known[position] & (run.last < stop)
            changed = {int(r) for r in np.flatnonzero(wanted != self._shown[position])}
            unfinished = self._unfinished[position]
            for at in changed if unfinished is None else changed | {unfinished}:
                self._show(position, at, wanted)
            self._shown[position][:] = wanted
            self._unfinished[position] = None
            if current is not None and stop > 0:
                now = int(run.run_of[stop - 1])
                self._write(position, now, np.asarray(current[position]).reshape(run.operand.block_shape))
                self._unfinished[position] = now
        arrays = zip(self._arrays, self.runs, strict=True)
        return tuple(_read_only(array[tuple(map(slice, run.operand.shape))]) for array, run in arrays)

    def _show(self, position: int, changed: int, wanted: np.ndarray) -> None:
        """Write the newest wanted run of a block, or what the array held before any run."""
        run = self.runs[position]
        candidates = [changed] if not run.revisits else np.flatnonzero(run.block_of == run.block_of[changed])
        newest = max((int(r) for r in candidates if wanted[r]), default=-1)
        if newest >= 0:
            self._write(position, newest, self._blocks[position][newest])
            return
        where = self._where(position, changed)
        base = self._bases[position]
        fill = np.asarray(internals.uninitialised((), run.operand.dtype)) if base is None else base[where]
        self._arrays[position][where] = fill

    def _write(self, position: int, run: int, block: np.ndarray) -> None:
        self._arrays[position][self._where(position, run)] = block

    def _where(self, position: int, run: int) -> tuple[slice, ...]:
        runs = self.runs[position]
        return tuple(
            slice(int(start), int(start) + size)
            for start, size in zip(runs.starts[run], runs.operand.block_shape, strict=True)
        )


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _base(program: Program, output: int) -> np.ndarray:
    """An output array, padded to whole blocks, before any step: empty, or the input that it shares memory with."""
    operand = program.outputs[output]
    array = np.array(internals.uninitialised(operand.padded_shape, operand.dtype))
    for source, target in program.aliases:
        if target - len(program.inputs) == output:
            array[tuple(map(slice, operand.shape))] = np.asarray(program.input_values[source])
    return array
