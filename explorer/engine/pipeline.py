"""Which block moves between HBM and VMEM in which grid step, exactly, from the captured index maps.

The rule of a Pallas TPU pipeline: a block is copied in when its index differs from that of the step before, and copied
out after the last of the steps in a row that share an output block. Each new block takes the next buffer slot.
Copies are counted with the step that needs (in) or finishes (out) the block; a TPU starts the copy in one step earlier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from explorer.engine.index_maps import block_starts
from explorer.engine.program import Operand, Program

LANES = 128
_SUBLANE_BYTES = 32
"""A vector register is 8 sublanes of 32 bits by 128 lanes; narrower types pack 2, 4 or 8 rows into a sublane."""


def tile_shape(dtype: Any) -> tuple[int, int]:
    """(rows, lanes) of a memory tile: (8, 128) for 4-byte types, (16, 128) for 2-byte, (32, 128) for 1-byte ones."""
    return max(1, _SUBLANE_BYTES // np.dtype(dtype).itemsize), LANES


def padded_bytes(shape: Sequence[int], dtype: Any) -> int:
    """Bytes of an array as laid out in tiles of its type on the last two dimensions; one row takes a tile of rows."""
    rows, lanes = tile_shape(dtype)
    *lead, second, last = (1, 1, *shape)
    padded = (-(-second // rows) * rows) * (-(-last // lanes) * lanes)
    return int(np.prod(lead, dtype=np.int64)) * padded * np.dtype(dtype).itemsize


@dataclass(frozen=True)
class BlockTransfer:
    """One copy that belongs to a grid step. ``block``: its block index, one int a dimension of the array.

    bytes: the part of the block that lies inside the array, as laid out in tiles; logical_bytes: its elements alone.
    """

    operand: str
    block: tuple[int, ...]
    direction: Literal["in", "out"]
    slot: int
    bytes: int
    logical_bytes: int


@dataclass(frozen=True)
class SlotState:
    """What one buffer slot of an operand holds while a grid step computes.

    state: in use (this step's block), loading (the next step's input), storing (the output just finished), held (an
    older block, not needed any more), empty (nothing yet).
    """

    operand: str
    slot: int
    block: tuple[int, ...] | None
    state: Literal["empty", "in use", "loading", "held", "storing"]


class Pipeline:
    """Transfers of every grid step of a program.

    load_bytes, load_bytes_logical: int64 (steps, inputs). store_bytes, store_bytes_logical: int64 (steps, outputs).
    Operands that are not pipelined (memory "any" or "hbm", whole in SMEM) move nothing here. Blocks in SMEM are
    counted without tiles. Scalar-prefetch operands are copied once before step 0: see ``prefetch_bytes``.
    """

    def __init__(self, program: Program) -> None:
        self.program = program
        self._moves = {item.name: _Moves(item, program.block_indices(item)) for item in program.operands}
        self.load_bytes, self.load_bytes_logical = self._table(program.inputs)
        self.store_bytes, self.store_bytes_logical = self._table(program.outputs)
        self.prefetch_bytes = sum(int(np.asarray(value).nbytes) for value in program.prefetch_values)

    def transfers(self, step: int) -> list[BlockTransfer]:
        """The copies of a grid step, inputs before outputs."""
        found = []
        for item in self.program.operands:
            moves = self._moves[item.name]
            if moves.copied[step]:
                size, logical = int(moves.bytes[step]), int(moves.logical[step])
                slot = int(moves.slot[step])
                found.append(BlockTransfer(item.name, moves.block(step), item.direction, slot, size, logical))
        return found

    def buffers(self, step: int) -> list[SlotState]:
        """State of every VMEM buffer slot while a grid step computes."""
        states = []
        for item in self.program.operands:
            if item.pipelined:
                states += self._moves[item.name].slots(step)
        return states

    def _table(self, operands: Sequence[Operand]) -> tuple[np.ndarray, np.ndarray]:
        shape = (self.program.steps, len(operands))
        padded, logical = np.zeros(shape, np.int64), np.zeros(shape, np.int64)
        for column, item in enumerate(operands):
            moves = self._moves[item.name]
            padded[:, column] = np.where(moves.copied, moves.bytes, 0)
            logical[:, column] = np.where(moves.copied, moves.logical, 0)
        return padded, logical


class _Moves:
    """One operand's blocks over all steps: bool copied, int64 bytes and logical bytes, int slot, each (steps,)."""

    def __init__(self, operand: Operand, indices: np.ndarray) -> None:
        self.operand = operand
        self._indices = indices
        moved = (indices[1:] != indices[:-1]).any(axis=1)
        self._run = np.concatenate([[0], np.cumsum(moved)])
        self._first = np.concatenate([[0], np.flatnonzero(moved) + 1])
        edge = np.concatenate([[True], moved]) if operand.direction == "in" else np.concatenate([moved, [True]])
        self.copied = edge if operand.memory in ("hbm+vmem", "smem") else np.zeros(len(indices), bool)
        self.slot = self._run % operand.buffers
        self.bytes, self.logical = _sizes(operand, block_starts(operand, indices))

    def block(self, step: int) -> tuple[int, ...]:
        return tuple(int(i) for i in self._indices[step])

    def slots(self, step: int) -> list[SlotState]:
        run = int(self._run[step])
        return [self._slot_state(step, run, slot) for slot in range(self.operand.buffers)]

    def _slot_state(self, step: int, run: int, slot: int) -> SlotState:
        count = self.operand.buffers
        name = self.operand.name
        if run % count == slot:
            return SlotState(name, slot, self.block(step), "in use")
        last_step_of_run = step + 1 == len(self._run) or self._run[step + 1] != run
        inward = self.operand.direction == "in"
        if inward and last_step_of_run and run + 1 < len(self._first) and (run + 1) % count == slot:
            return SlotState(name, slot, self.block(int(self._first[run + 1])), "loading")
        older = run - ((run - slot) % count)
        if older < 0:
            return SlotState(name, slot, None, "empty")
        just_finished = not inward and older == run - 1 and int(self._first[run]) == step
        return SlotState(name, slot, self.block(int(self._first[older])), "storing" if just_finished else "held")


def _sizes(operand: Operand, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(padded, logical) bytes of the part of each block that lies inside the array."""
    block, shape = np.asarray(operand.block_shape, np.int64), np.asarray(operand.shape, np.int64)
    inside = np.minimum(block.reshape(-1), shape.reshape(-1) - starts)
    itemsize = operand.dtype.itemsize
    logical = inside.prod(axis=1) * itemsize
    if operand.memory == "smem":
        return logical, logical
    rows, lanes = tile_shape(operand.dtype)
    tiled = np.concatenate([np.ones((len(inside), max(0, 2 - inside.shape[1])), np.int64), inside], axis=1)
    tiled[:, -1] = -(-tiled[:, -1] // lanes) * lanes
    tiled[:, -2] = -(-tiled[:, -2] // rows) * rows
    return tiled.prod(axis=1) * itemsize, logical
