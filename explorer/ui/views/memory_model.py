"""What the memory view shows of operands, transfers and buffers, worked out from a state. No Qt."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.link.messages import BufferState, Configured, OperandInfo, Snapshot, Transfer
from explorer.ui.views.shown import LOAD, SCHEDULE

MOST_COLUMNS = 4
MAIN_ROLES = ("q", "k", "v", "output")


@dataclass(frozen=True)
class Column:
    """An operand that has a column of its own. ``axis`` is the dimension whose blocks are drawn as cells."""

    operand: OperandInfo
    title: str
    axis: int
    blocks: int
    block: tuple[int, ...] | None
    """Block index in use in this step; None where nothing is."""
    transfer: Transfer | None
    slots: tuple[BufferState | None, BufferState | None]

    @property
    def position(self) -> int | None:
        return None if self.block is None else self.block[self.axis]

    def label(self, block: tuple[int, ...]) -> str:
        """'K[2]': the block's number along the axis that is cut."""
        return f"{self.title}[{block[self.axis]}]"


def columns(configured: Configured, snapshot: Snapshot) -> tuple[list[Column], list[OperandInfo]]:
    """(operands with columns, the others). Q, K, V and O have them; in a kernel without these, the largest four."""
    blocked = [operand for operand in configured.operands if operand.memory == "hbm+vmem"]
    main = [operand for role in MAIN_ROLES for operand in blocked if operand.role == role][:MOST_COLUMNS]
    if not main:
        largest = sorted(blocked, key=lambda operand: -operand.bytes)[:MOST_COLUMNS]
        main = [operand for operand in blocked if operand in largest]
    names = {operand.name for operand in main}
    others = [operand for operand in configured.operands if operand.name not in names]
    return [_column(operand, snapshot) for operand in main], others


def _column(operand: OperandInfo, snapshot: Snapshot) -> Column:
    counts = operand.block_grid
    axis = max(range(len(counts)), key=lambda dim: (counts[dim], dim)) if counts else 0
    if operand.role in MAIN_ROLES and len(counts) >= 2:
        # rows of Q, K, V and O are cut, not features: batch and heads come before them
        axis = len(counts) - 2
    slots: list[BufferState | None] = [None, None]
    for state in snapshot.buffers:
        if state.operand == operand.name and 0 <= state.slot < 2:
            slots[state.slot] = state
    here = [state for state in slots if state is not None and state.state in ("in use", "storing", "held")]
    active = next((state.block for state in here if state.state == "in use"), here[0].block if here else None)
    transfer = next((item for item in snapshot.transfers if item.operand == operand.name), None)
    return Column(
        operand, title_of(operand), axis, counts[axis] if counts else 1, active, transfer, (slots[0], slots[1])
    )


def title_of(operand: OperandInfo) -> str:
    """'Q', 'K', 'V', 'O' by role; any other operand by its own name."""
    return {"q": "Q", "k": "K", "v": "V", "output": "O"}.get(operand.role, operand.name)


def has_run(transfer: Transfer, stage: int) -> bool:
    """Whether a transfer of the step lies before the end of a stage: loads by stage 2, stores by stage 5."""
    return stage >= (LOAD if transfer.direction == "in" else SCHEDULE)


@dataclass(frozen=True)
class SlotText:
    """What a buffer slot says, longest first, and how it looks."""

    choices: tuple[str, ...]
    look: str
    """'full', 'loading', 'kept' or 'empty'."""


def slot_text(column: Column, slot: int, stage: int) -> SlotText:
    """State of one of the two slots of an operand by a stage."""
    state = column.slots[slot]
    name = f"{column.title}{slot}"
    if state is None or state.block is None or state.state == "empty":
        return SlotText((f"{name} empty", name), "empty")
    block = f"[{state.block[column.axis]}]"
    waiting = column.transfer is not None and column.transfer.slot == slot and not has_run(column.transfer, stage)
    if state.state == "loading":
        return SlotText((f"{name} {block} loading", f"{block} loading", "loading", name), "loading")
    if waiting and column.operand.direction == "in":
        return SlotText((f"{name} {block} awaited", f"{block} awaited", "awaited", name), "loading")
    if state.state == "storing" and not waiting:
        return SlotText((f"{name} {block} storing", f"{block} storing", "storing", name), "loading")
    if state.state == "held":
        return SlotText((f"{name} {block} held", f"{block} held", "held", name), "kept")
    return SlotText((f"{name} {block}", block, name), "full")
