"""Painting of the parts of the memory view: operand boxes, transfer arrows, buffer slots, chips and the limit bar."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QPainter, QPolygonF

from explorer.link.messages import BufferInfo, MemoryInfo
from explorer.ui.theme import SPACING
from explorer.ui.views.memory_model import Column, SlotText, has_run
from explorer.ui.views.sheet import CENTRE, LEFT, RIGHT, Sheet, mix, readable_on
from explorer.ui.views.shown import SCORE
from explorer.units import byte_text

MOST_CELLS = 16
RADIUS = 3.0


def draw_operand(sheet: Sheet, rect: QRectF, column: Column, lines: int) -> None:
    """Name, bytes, and the blocks along the axis that is cut, the current one lit; in one line without the bytes."""
    theme, line = sheet.theme, sheet.fonts.height("small")
    colour = theme.role(column.operand.role)
    sheet.box(rect, colour, mix(colour, theme.panel, 0.08), radius=RADIUS)
    head = QRectF(rect.left() + 3, rect.top() + 2, rect.width() - 6, line)
    written = sheet.fitting(head, [column.title], theme.text, "small_bold")
    free = head.adjusted(sheet.fonts.width(written, "small_bold") + 3, 0, 0, 0)
    if lines == 1:
        cells = QRectF(free.left(), rect.top() + SPACING, free.width(), rect.height() - 2 * SPACING)
    else:
        size = byte_text(column.operand.bytes)
        sheet.fitting(free, [size, size.replace(" ", "")], theme.muted, align=RIGHT)
        cells = QRectF(head.left(), head.bottom() + 2, head.width(), rect.bottom() - head.bottom() - SPACING - 2)
    _draw_cells(sheet, cells, column, colour)


def _draw_cells(sheet: Sheet, rect: QRectF, column: Column, colour: str) -> None:
    pale, position = mix(colour, sheet.theme.panel, 0.3), column.position
    if column.blocks > MOST_CELLS:
        sheet.fill(rect, pale)
        if position is not None:
            width = max(rect.width() / column.blocks, 3.0)
            left = rect.left() + (rect.width() - width) * position / (column.blocks - 1)
            sheet.fill(QRectF(left, rect.top(), width, rect.height()), colour)
        return
    step = (rect.width() + 1) / column.blocks
    for index in range(column.blocks):
        left, right = round(rect.left() + index * step), round(rect.left() + (index + 1) * step) - 1
        sheet.fill(QRectF(left, rect.top(), right - left, rect.height()), colour if index == position else pale)


def draw_transfer(sheet: Sheet, rect: QRectF, column: Column, stage: int) -> None:
    """An arrow with what it carries; dashed while the stage that moves it has not come; 'held' where nothing moves."""
    theme, line, transfer = sheet.theme, sheet.fonts.height("small"), column.transfer
    text = QRectF(rect.left() + 14, rect.top(), rect.width() - 14, rect.height())
    if transfer is None:
        sheet.line(
            QPointF(rect.left() + 6, rect.top()), QPointF(rect.left() + 6, rect.bottom()), theme.border, 1.5, True
        )
        outgoing = column.operand.direction == "out"
        middle = QRectF(text.left(), text.center().y() - line / 2, text.width(), line)
        sheet.fitting(middle, ["row block end", "row end", "later"] if outgoing else ["held"], theme.muted)
        return
    colour = theme.role(column.operand.role)
    run = has_run(transfer, stage)
    _arrow(sheet, rect.left() + 6, rect.top(), rect.bottom(), colour, transfer.direction == "in", run)
    top = text.center().y() - line
    ink = theme.text if run else theme.muted
    label = column.label(transfer.block)
    sheet.fitting(QRectF(text.left(), top, text.width(), line), [label, label[len(column.title) :]], ink, "small_bold")
    size = byte_text(transfer.bytes)
    sheet.fitting(QRectF(text.left(), top + line, text.width(), line), [size, size.replace(" ", "")], ink)


def _arrow(sheet: Sheet, x: float, top: float, bottom: float, colour: str, down: bool, solid: bool) -> None:
    head = 6.0
    start, end = (top, bottom - head) if down else (bottom, top + head)
    sheet.line(QPointF(x, start), QPointF(x, end), colour, width=3.0 if solid else 1.5, dashed=not solid)
    tip = bottom if down else top
    painter = sheet.painter
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(QColor(colour))
    painter.drawPolygon(QPolygonF([QPointF(x - 5, end), QPointF(x + 5, end), QPointF(x, tip)]))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)


def draw_slot(sheet: Sheet, rect: QRectF, column: Column, said: SlotText) -> None:
    """A buffer slot: full colour in use, hatched while bytes move, pale where it holds what no step needs now."""
    theme = sheet.theme
    colour = theme.role(column.operand.role)
    fill = {"full": colour, "loading": mix(colour, theme.panel, 0.25), "kept": mix(colour, theme.panel, 0.35)}.get(
        said.look, theme.panel
    )
    sheet.box(rect, colour if said.look != "empty" else theme.border, fill, radius=RADIUS)
    if said.look == "loading":
        inner = rect.adjusted(2, 2, -2, -2)
        sheet.painter.fillRect(inner, QBrush(QColor(mix(colour, theme.panel, 0.4)), Qt.BrushStyle.BDiagPattern))
    ink = readable_on(fill) if said.look == "full" else theme.text if said.look != "empty" else theme.muted
    sheet.fitting(rect.adjusted(2, 0, -2, 0), said.choices, ink, align=CENTRE)


def chip_text(buffer: BufferInfo) -> str:
    return f"{buffer.name} × {buffer.slots}" if buffer.slots > 1 else buffer.name


def flow(
    buffers: Sequence[BufferInfo], width: float, measure: Callable[[str], float]
) -> list[list[tuple[BufferInfo, float]]]:
    """Lines of (buffer, width) that each fill ``width``: as many chips a line as their texts allow."""
    lines: list[list[tuple[BufferInfo, float]]] = [[]]
    used = 0.0
    for buffer in buffers:
        wide = measure(chip_text(buffer)) + 2 * SPACING
        if lines[-1] and used + wide > width:
            lines.append([])
            used = 0.0
        lines[-1].append((buffer, wide))
        used += wide + SPACING
    return [_stretched(line, width) for line in lines if line]


def _stretched(line: list[tuple[BufferInfo, float]], width: float) -> list[tuple[BufferInfo, float]]:
    spare = max(width - sum(wide for _, wide in line) - SPACING * (len(line) - 1), 0.0) / len(line)
    return [(buffer, wide + spare) for buffer, wide in line]


def draw_chip(sheet: Sheet, rect: QRectF, buffer: BufferInfo, stage: int) -> None:
    """Scratch, temporaries and the buffers of lesser operands; S and P are outlines until they are computed."""
    theme = sheet.theme
    colour = theme.role(buffer.role)
    there = buffer.kind != "temporary" or stage >= SCORE
    sheet.box(rect, colour, mix(colour, theme.panel, 0.2) if there else theme.panel, dashed=not there, radius=RADIUS)
    text = chip_text(buffer)
    sheet.fitting(rect.adjusted(2, 0, -2, 0), [text, buffer.name], theme.text if there else theme.muted, align=CENTRE)


def draw_limit(sheet: Sheet, rect: QRectF, live: int, memory: MemoryInfo, chip: str, lines: int) -> None:
    """VMEM live and at peak against the scoped limit, as a bar and in one or two lines of words."""
    theme, line = sheet.theme, sheet.fonts.height("small")
    over = memory.vmem_peak > memory.vmem_limit
    track = QRectF(rect.left(), rect.top(), rect.width(), 6)
    sheet.box(track, "", theme.faint, radius=3)
    limit = max(memory.vmem_limit, 1)
    peak_x = track.left() + track.width() * min(memory.vmem_peak / limit, 1.0)
    ink = theme.wrong if over else theme.text
    sheet.box(QRectF(track.left(), track.top(), max(track.width() * min(live / limit, 1.0), 6), 6), "", ink, radius=3)
    sheet.fill(QRectF(min(max(peak_x, track.left() + 6), track.right() - 2), track.top() - 2, 2, 10), ink)
    first = QRectF(rect.left(), track.bottom() + SPACING, rect.width(), line)
    peak, of_limit = byte_text(memory.vmem_peak), f"of {byte_text(memory.vmem_limit)}"
    numbers = f"{byte_text(live)} live, {peak} at peak {of_limit}"
    if lines == 1:
        choices = [f"{numbers}, a lower bound", f"{peak} {of_limit}, a lower bound", f"{peak} {of_limit}"]
    else:
        choices = [f"{numbers} scoped limit", numbers, f"{peak} {of_limit}"]
    sheet.fitting(first, choices, ink if over else theme.muted, align=LEFT)
    if lines == 1:
        return
    physical = byte_text(memory.vmem_physical)
    whole = f"a model and a lower bound · {chip} has {physical} physical"
    second = first.translated(0, line)
    sheet.fitting(second, [whole, f"a lower bound · {chip}: {physical}", "a lower bound"], theme.muted)
