"""Where the operands are: blocks in HBM, this step's transfers, the double buffers and scratch in VMEM."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtWidgets import QWidget

from explorer.link.messages import BufferInfo, OperandInfo
from explorer.ui.theme import SPACING
from explorer.ui.views import memory_paint as paint
from explorer.ui.views.base import View
from explorer.ui.views.memory_model import Column, columns, has_run, slot_text
from explorer.ui.views.sheet import Sheet, mix
from explorer.ui.views.shown import shown_stage
from explorer.units import byte_text

GAP = 1.5 * SPACING


@dataclass(frozen=True)
class Fit:
    """How much is said; what a low view leaves out is in the tips."""

    others: bool = True
    foot_lines: int = 2
    vmem_title: bool = True
    box_lines: int = 2


FITS = (
    Fit(),
    Fit(others=False),
    Fit(others=False, foot_lines=1),
    Fit(others=False, foot_lines=1, vmem_title=False),
    Fit(others=False, foot_lines=1, vmem_title=False, box_lines=1),
)
"""From the most to the least."""


class MemoryView(View):
    """Bytes are as laid out in (8, 128) tiles; the tip of a thing has the logical bytes too."""

    watches: ClassVar[tuple[str, ...]] = ("configured", "snapshot", "cursor")
    name = "Memory"
    smallest = (260, 180)
    preferred = (330, 270)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._spots: list[tuple[QRectF, str]] = []

    def words(self) -> str:
        configured, snapshot = self.state.configured, self.state.snapshot
        assert configured is not None
        assert snapshot is not None
        run = [item for item in snapshot.transfers if has_run(item, shown_stage(self.state))]
        labels = {column.operand.name: column for column in columns(configured, snapshot)[0]}
        names = [labels[item.operand].label(item.block) if item.operand in labels else item.operand for item in run]
        moved = byte_text(sum(item.bytes for item in run))
        what = f"Moves {', '.join(names)}: {moved}." if run else "Moves nothing."
        memory = configured.memory
        waiting = sum(item.bytes for item in snapshot.transfers) - sum(item.bytes for item in run)
        so_far, whole = byte_text(snapshot.hbm_moved - waiting), byte_text(memory.hbm_moved)
        return f"{what} So far {so_far} of {whole}; naive moves {byte_text(memory.hbm_moved_naive)}."

    # ------------------------------------------------------------ painting

    def draw(self, sheet: Sheet, area: QRectF) -> None:
        configured, snapshot = self.state.configured, self.state.snapshot
        assert configured is not None
        assert snapshot is not None
        found, others = columns(configured, snapshot)
        chips = self._chips(found)
        room, line = area.adjusted(2, 0, -2, -2), sheet.fonts.height("small")
        fit = next((fit for fit in FITS if self._height(room.width(), chips, others, fit) <= room.height()), FITS[-1])
        spare = max(room.height() - self._height(room.width(), chips, others, fit), 0.0)
        self._spots = []
        y = self._draw_hbm_title(sheet, room, fit)
        width = (room.width() - GAP * (len(found) - 1)) / max(len(found), 1)
        box, arrows = fit.box_lines * line + SPACING + spare * 0.15, 2 * line + SPACING + spare * 0.15
        places = [QRectF(room.left() + index * (width + GAP), y, width, box) for index in range(len(found))]
        for rect, column in zip(places, found, strict=True):
            paint.draw_operand(sheet, rect, column, fit.box_lines)
            self._spots.append((rect, operand_tip(column.operand, column)))
        y += box + 2
        if others and fit.others:
            sheet.fitting(QRectF(room.left(), y, room.width(), line), others_text(others), sheet.theme.muted)
            y += line + 2
        for place, column in zip(places, found, strict=True):
            rect = QRectF(place.left(), y, width, arrows)
            paint.draw_transfer(sheet, rect, column, shown_stage(self.state))
            self._spots.append((rect, transfer_tip(column)))
        vmem = QRectF(room.left(), y + arrows + 2, room.width(), 0)
        y = self._draw_vmem(sheet, vmem, found, chips, line + SPACING + spare * 0.1, fit.vmem_title)
        foot = QRectF(room.left(), y + 2 * SPACING, room.width(), room.bottom() - y)
        paint.draw_limit(sheet, foot, snapshot.vmem_live, configured.memory, configured.chip.name, fit.foot_lines)

    def _draw_hbm_title(self, sheet: Sheet, room: QRectF, fit: Fit) -> float:
        assert self.state.configured is not None
        line = sheet.fonts.height("small")
        added = byte_text(self.state.configured.memory.naive_matrix_bytes)
        place = "HBM" if fit.vmem_title else "HBM → VMEM"
        sheet.fitting(
            QRectF(room.left(), room.top(), room.width(), line),
            [f"{place} · naive would add S and P: {added}", f"{place} · naive adds {added}", place],
            sheet.theme.muted,
        )
        return room.top() + line + 2

    def _draw_vmem(
        self, sheet: Sheet, rect: QRectF, found: list[Column], chips: list[BufferInfo], slot: float, titled: bool
    ) -> float:
        """The box of VMEM from the top of ``rect``; returns where it ends."""
        theme, line, stage = sheet.theme, sheet.fonts.height("small"), shown_stage(self.state)
        inner = rect.adjusted(SPACING, 0, -SPACING, 0)
        lines = paint.flow(chips, inner.width(), sheet.fonts.width)
        high = line + SPACING
        height = (line + 2 if titled else 0) + 2 * SPACING + 2 * slot + SPACING + len(lines) * (high + 3)
        sheet.box(
            QRectF(rect.left(), rect.top(), rect.width(), height),
            theme.border,
            mix(theme.faint, theme.panel, 0.45),
            radius=4,
        )
        y = rect.top() + SPACING
        if titled:
            room = QRectF(inner.left(), y - 2, inner.width(), line)
            sheet.fitting(room, ["VMEM · two slots a block", "VMEM"], theme.muted)
            y += line
        width = (inner.width() - GAP * (len(found) - 1)) / max(len(found), 1)
        for index, column in enumerate(found):
            for number in (0, 1):
                place = QRectF(inner.left() + index * (width + GAP), y + number * (slot + 2), width, slot)
                paint.draw_slot(sheet, place, column, slot_text(column, number, stage))
                self._spots.append((place, slot_tip(column, number)))
        y += 2 * slot + SPACING + 2
        for chip_line in lines:
            x = inner.left()
            for buffer, wide in chip_line:
                paint.draw_chip(sheet, QRectF(x, y, wide, high), buffer, stage)
                self._spots.append((QRectF(x, y, wide, high), buffer_tip(buffer)))
                x += wide + SPACING
            y += high + 3
        return rect.top() + height

    def _chips(self, found: list[Column]) -> list[BufferInfo]:
        """Buffers without a column: scratch, temporaries, and blocks of lesser operands."""
        assert self.state.configured is not None
        shown = {column.operand.name for column in found}
        buffers = [item for item in self.state.configured.memory.buffers if item.name not in shown]
        order = {"scratch": 0, "temporary": 1, "block": 2}
        return sorted(buffers, key=lambda item: order[item.kind])

    def _height(self, width: float, chips: list[BufferInfo], others: list[OperandInfo], fit: Fit) -> float:
        """What the picture needs in a detail."""
        line = self.fonts.height("small")
        rows = len(paint.flow(chips, width - 2 * SPACING, self.fonts.width))
        also = line + 2 if others and fit.others else 0
        hbm = (line + 2) + (fit.box_lines * line + SPACING + 2) + also + (2 * line + SPACING + 2)
        title = line + 2 if fit.vmem_title else 0
        vmem = title + 2 * SPACING + 2 * (line + SPACING) + SPACING + rows * (line + SPACING + 3)
        return hbm + vmem + 2 * SPACING + 6 + SPACING + fit.foot_lines * line

    def tip_at(self, position: QPointF) -> str:
        return next((text for rect, text in self._spots if rect.contains(position)), "")


def others_text(others: list[OperandInfo]) -> list[str]:
    """Operands without a column, in falling detail."""
    whole = [f"{item.name} {byte_text(item.bytes)}{' (SMEM)' if item.memory == 'smem' else ''}" for item in others]
    short = [f"{item.name} {byte_text(item.bytes)}" for item in others]
    total = byte_text(sum(item.bytes for item in others))
    return [f"also {', '.join(whole)}", f"also {', '.join(short)}", f"and {len(others)} more, {total}", f"+ {total}"]


def operand_tip(operand: OperandInfo, column: Column) -> str:
    shape, block = " × ".join(map(str, operand.shape)), " × ".join(map(str, operand.block_shape))
    return (
        f"{operand.name}: {operand.dtype} {shape}, {byte_text(operand.bytes)}\nblock {block}: "
        f"{byte_text(operand.block_bytes)}, {byte_text(operand.block_bytes_padded)} as laid out in VMEM\n"
        f"block in use: {'none' if column.block is None else list(column.block)} of {list(operand.block_grid)}"
    )


def transfer_tip(column: Column) -> str:
    transfer = column.transfer
    if transfer is None:
        if column.operand.direction == "out":
            return "Nothing leaves VMEM in this step: the output block is stored when its row block ends."
        return "Nothing moves: the block index repeats, so the block is held in VMEM."
    way = "HBM to VMEM" if transfer.direction == "in" else "VMEM to HBM"
    return (
        f"{transfer.operand}{list(transfer.block)}, {way}, slot {transfer.slot}\n{byte_text(transfer.bytes)} as laid "
        f"out in tiles, {byte_text(transfer.logical_bytes)} logical"
    )


def slot_tip(column: Column, number: int) -> str:
    state = column.slots[number]
    if state is None or state.block is None:
        return f"{column.operand.name}, slot {number}: empty"
    return f"{column.operand.name}, slot {number}: block {list(state.block)}, {state.state}"


def buffer_tip(buffer: BufferInfo) -> str:
    shape = " × ".join(map(str, buffer.shape))
    slots = f", {buffer.slots} slots" if buffer.slots > 1 else ""
    return (
        f"{buffer.name} ({buffer.kind}): {buffer.dtype} {shape}{slots}\n{byte_text(buffer.bytes)} logical, "
        f"{byte_text(buffer.bytes_padded)} as laid out in tiles"
    )
