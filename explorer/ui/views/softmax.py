"""Running max, running sum and rescale factor of every row of the current row block, before and after the step."""

from __future__ import annotations

import math
from typing import ClassVar

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPolygonF
from PySide6.QtWidgets import QWidget

from explorer.ui.theme import SPACING
from explorer.ui.views.base import View
from explorer.ui.views.matrix_words import span, token_name
from explorer.ui.views.sheet import LEFT, RIGHT, Sheet, mix
from explorer.ui.views.shown import ShownSoftmax, selected_row, shown_softmax, shown_stage
from explorer.ui.views.softmax_model import Bars, bars, nice_range
from explorer.units import number_text, plural

NARROWEST_BAR, WIDEST_BAR = 2.0, 32.0
ALPHA_HEIGHT = 12.0
FOOTED = 150
"""Logical pixels of height from which there is a legend of alpha below the plots."""


class SoftmaxView(View):
    """A click, or left and right, select a row."""

    watches: ClassVar[tuple[str, ...]] = ("configured", "snapshot", "cursor", "selection", "inputs")
    name = "Running softmax"
    smallest = (220, 112)
    preferred = (330, 200)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self._plots: tuple[QRectF, int] = (QRectF(), 1)

    def empty_text(self) -> str:
        nothing = super().empty_text()
        if nothing:
            return nothing
        assert self.state.snapshot is not None
        if self.state.snapshot.softmax is None:
            return "The running max and sum of this kernel are not known by name: see its values by source line."
        return ""

    def words(self) -> str:
        snapshot, shown = self.state.snapshot, self._shown()
        assert snapshot is not None
        rows = len(shown.m)
        what = f"Rows {span(snapshot.q_range)} of q block {snapshot.q_block}"
        if not snapshot.computed:
            return f"{what}: the tile is skipped, so m and l stay as they were."
        if not shown.moved:
            return f"{what} before this tile's scores: m and l as the step found them."
        seen_first = np.isneginf(shown.m_before) & np.isfinite(shown.m)
        rose = int(((shown.m > shown.m_before) & ~seen_first).sum())
        first = int(seen_first.sum())
        if first == rows:
            return f"{what}: these are the first keys of all {plural(rows, 'row')}."
        parts = [f"{what}: m rose in {rose} of {plural(rows, 'row')}"]
        if first:
            parts.append(f"{plural(first, 'row')} saw {'its' if first == 1 else 'their'} first keys")
        unseen = int(np.isneginf(shown.m).sum())
        if unseen:
            parts.append(f"{plural(unseen, 'row')} {'has' if unseen == 1 else 'have'} seen none yet")
        finite = shown.alpha[np.isfinite(shown.alpha)]
        if rose and finite.size:
            parts.append(f"the smallest α is {number_text(float(finite[~seen_first[np.isfinite(shown.alpha)]].min()))}")
        return ", ".join(parts) + "."

    def _shown(self) -> ShownSoftmax:
        assert self.state.snapshot is not None
        assert self.state.snapshot.softmax is not None
        return shown_softmax(self.state.snapshot.softmax, shown_stage(self.state))

    # ------------------------------------------------------------ painting

    def draw(self, sheet: Sheet, area: QRectF) -> None:
        line = sheet.fonts.height("small")
        shown = self._shown()
        ends = (*nice_range(shown.m, shown.m_before), *nice_range(shown.kept + shown.added, from_zero=True))
        # never narrower than usual numbers, so that the bars keep their place from step to step
        axis = max(sheet.fonts.width(text) for text in ("−0.5", *map(axis_text, ends))) + 2 * SPACING
        left, right = area.left() + axis, area.right() - 4
        found = bars(shown, int((right - left) / NARROWEST_BAR))
        footed = area.height() >= FOOTED
        fixed = (3 if footed else 2) * line + ALPHA_HEIGHT + (5 if footed else 4) * SPACING + 2
        plot = max((area.height() - fixed) / 2, 12.0)
        y = area.top()
        self._heading(sheet, QRectF(area.left(), y, area.width(), line), "running max m", "before", "after")
        first = QRectF(left, y + line + SPACING, right - left, plot)
        self._draw_max(sheet, first, found)
        y = first.bottom() + SPACING
        self._heading(sheet, QRectF(area.left(), y, area.width(), line), "running sum l", "α · l", "new")
        second = QRectF(left, y + line + SPACING, right - left, plot)
        self._draw_sum(sheet, second, found)
        strip = QRectF(left, second.bottom() + SPACING, right - left, ALPHA_HEIGHT)
        self._draw_alpha(sheet, strip, found)
        if footed:
            self._draw_foot(sheet, QRectF(area.left(), strip.bottom() + SPACING, area.width(), line), found)
        self._plots = (QRectF(left, first.top(), right - left, strip.bottom() - first.top()), found.rows_each)
        self._draw_selected(sheet, found)

    def _heading(self, sheet: Sheet, rect: QRectF, title: str, before: str, after: str) -> None:
        """A plot's name at the left; at the right what its two colours mean."""
        theme, fonts = sheet.theme, sheet.fonts
        x = rect.right() - 4
        for name, colour in ((after, theme.softmax), (before, self._quiet(sheet))):
            width = fonts.width(name)
            sheet.text(QRectF(x - width, rect.top(), width, rect.height()), name, theme.muted)
            x -= width + SPACING + 8
            sheet.fill(QRectF(x, round(rect.center().y() - 4), 8, 8), colour)
            x -= 2 * SPACING
        sheet.fitting(
            QRectF(rect.left() + 2, rect.top(), x - rect.left() - 2, rect.height()), [title, title[-1]], theme.muted
        )

    def _quiet(self, sheet: Sheet) -> str:
        return mix(sheet.theme.muted, sheet.theme.panel, 0.5)

    def _axis(self, sheet: Sheet, rect: QRectF, low: float, high: float) -> None:
        line = sheet.fonts.height("small")
        # numbers lie inside the plot's height, so that they keep clear of the headings
        for value, y, top in ((high, rect.top(), rect.top()), (low, rect.bottom(), rect.bottom() - line)):
            sheet.line(QPointF(rect.left(), y), QPointF(rect.right(), y), sheet.theme.faint)
            if value == low and rect.height() < 2 * line:
                continue
            room = QRectF(0, top, rect.left() - SPACING, line)
            sheet.text(room, axis_text(value), sheet.theme.muted, align=RIGHT)

    def _draw_max(self, sheet: Sheet, rect: QRectF, found: Bars) -> None:
        low, high = nice_range(found.m, found.m_before)
        self._axis(sheet, rect, low, high)
        before, after, stems = [], [], []
        for index, (x, inner) in enumerate(self._places(rect, len(found.m))):
            if found.wrong[index]:
                _cross(sheet, QPointF(x + inner / 2, rect.center().y()))
            elif found.unseen[index]:
                _unseen_mark(sheet, QPointF(x + inner / 2, rect.bottom()))
            else:
                old, new = found.m_before[index], found.m[index]
                y = rect.bottom() - (new - low) / (high - low) * rect.height()
                if np.isfinite(old) and old < new:
                    y_old = rect.bottom() - (old - low) / (high - low) * rect.height()
                    stems.append(QRectF(x + inner / 2 - 0.5, y, 1.0, y_old - y))
                    before.append(QRectF(x, y_old - 1, inner, 2))
                after.append(QRectF(x, y - 1.5, inner, 3))
        sheet.fills(stems + after, sheet.theme.softmax)
        sheet.fills(before, self._quiet(sheet))

    def _places(self, rect: QRectF, count: int) -> list[tuple[float, float]]:
        """(left, width) of each bar."""
        width = rect.width() / count
        inner = min(max(width * 0.7, 1.0), WIDEST_BAR)
        return [(rect.left() + index * width + (width - inner) / 2, inner) for index in range(count)]

    def _draw_sum(self, sheet: Sheet, rect: QRectF, found: Bars) -> None:
        _, high = nice_range(found.kept + found.added, from_zero=True)
        self._axis(sheet, rect, 0.0, high)
        kept_bars, added_bars = [], []
        for index, (x, inner) in enumerate(self._places(rect, len(found.kept))):
            if found.wrong[index]:
                _cross(sheet, QPointF(x + inner / 2, rect.center().y()))
                continue
            kept = float(found.kept[index]) / high * rect.height()
            added = float(found.added[index]) / high * rect.height()
            kept_bars.append(QRectF(x, rect.bottom() - kept, inner, kept))
            added_bars.append(QRectF(x, rect.bottom() - kept - added, inner, added))
        sheet.fills(kept_bars, self._quiet(sheet))
        sheet.fills(added_bars, sheet.theme.softmax)

    def _draw_alpha(self, sheet: Sheet, rect: QRectF, found: Bars) -> None:
        """Full colour where alpha is 1, the ground where it is 0; in 32 shades, which is more than eyes tell apart."""
        line = sheet.fonts.height("small")
        label = QRectF(0, rect.center().y() - line / 2, rect.left() - SPACING, line)
        sheet.text(label, "α", sheet.theme.muted, align=RIGHT)
        width = rect.width() / len(found.alpha)
        gap = 1.0 if width >= 4 else 0.0
        cells = [
            QRectF(rect.left() + index * width, rect.top(), width - gap, rect.height())
            for index in range(len(found.alpha))
        ]
        if gap:
            sheet.fills(cells, sheet.theme.border)
            cells = [cell.adjusted(1, 1, -1, -1) for cell in cells]
        for cell, alpha, unseen in zip(cells, found.alpha.tolist(), found.unseen.tolist(), strict=True):
            if not math.isfinite(alpha):
                _cross(sheet, cell.center())
                continue
            share = 0.0 if unseen else round(min(max(alpha, 0.0), 1.0) * 32) / 32
            sheet.fill(cell, mix(sheet.theme.softmax, sheet.theme.panel, share))

    def _draw_foot(self, sheet: Sheet, rect: QRectF, found: Bars) -> None:
        theme, notes = sheet.theme, []
        ramp = QRectF(rect.left() + 2 + sheet.fonts.width("α 0 "), rect.center().y() - 4, 28, 8)
        sheet.text(
            QRectF(rect.left() + 2, rect.top(), ramp.left() - rect.left() - 2, rect.height()), "α 0", theme.muted
        )
        for part in range(7):
            sheet.fill(QRectF(ramp.left() + part * 4, ramp.top(), 4, 8), mix(theme.softmax, theme.panel, part / 6))
        one = QRectF(ramp.right() + SPACING, rect.top(), sheet.fonts.width("1"), rect.height())
        sheet.text(one, "1", theme.muted)
        x = one.right() + 3 * SPACING
        if found.unseen.any():
            _unseen_mark(sheet, QPointF(x + 4, rect.center().y() + 4))
            notes.append("m = −∞")
            x += 12
        if found.rows_each > 1:
            notes.append(f"a bar: extremes of {found.rows_each} rows")
        elif not notes:
            notes.append("1: the max did not move")
        sheet.fitting(
            QRectF(x, rect.top(), rect.right() - x - 2, rect.height()),
            [", ".join(notes), notes[0], ""],
            theme.muted,
            align=LEFT,
        )

    def _draw_selected(self, sheet: Sheet, found: Bars) -> None:
        row, plots = selected_row(self.state), self._plots[0]
        assert self.state.snapshot is not None
        if row is None or self.state.selection.row != row:
            return
        index = (row - self.state.snapshot.q_range[0]) // found.rows_each
        width = plots.width() / len(found.m)
        wide = max(width, 4.0)
        left = plots.left() + (index + 0.5) * width - wide / 2
        sheet.box(QRectF(left, plots.top() - 2, wide, plots.height() + 3), sheet.theme.text, width=1.5)

    # ------------------------------------------------------------ Qt

    def row_at(self, point: QPointF) -> int | None:
        """Absolute query row (the first of a bar) under a point of the plots."""
        plots, each = self._plots
        snapshot = self.state.snapshot
        if snapshot is None or self.empty_text() or not plots.contains(point):
            return None
        rows = snapshot.q_range[1] - snapshot.q_range[0]
        count = -(-rows // each)
        index = min(int((point.x() - plots.left()) / plots.width() * count), count - 1)
        return snapshot.q_range[0] + index * each

    def tip_at(self, position: QPointF) -> str:
        row = self.row_at(position)
        snapshot = self.state.snapshot
        if row is None or snapshot is None:
            return ""
        shown, at = self._shown(), row - snapshot.q_range[0]
        tokens = self.state.inputs.q_tokens if self.state.inputs else ()
        return "\n".join(
            [
                f"query row {token_name(tokens, row)}",
                f"m: {shown.m_before[at]} → {shown.m[at]}",
                f"α: {shown.alpha[at]}",
                f"l: α · l {shown.kept[at]} + new {shown.added[at]} = {shown.kept[at] + shown.added[at]}",
            ]
        )

    def mousePressEvent(self, event: QMouseEvent) -> None:
        row = self.row_at(event.position())
        if row is not None and event.button() == Qt.MouseButton.LeftButton:
            self.row_selected.emit(row)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        move = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        row, snapshot = selected_row(self.state), self.state.snapshot
        if move is None or self.empty_text() or row is None or snapshot is None or event.modifiers():
            super().keyPressEvent(event)
            return
        start, stop = snapshot.q_range
        self.row_selected.emit(row if self.state.selection.row != row else min(max(row + move, start), stop - 1))


def axis_text(value: float) -> str:
    """End of an axis, a round number: '−2.5', '40', '2e+06'."""
    return f"{value:.4g}".replace("-", "−")


def _unseen_mark(sheet: Sheet, foot: QPointF) -> None:
    """A small arrow down: the value lies below every axis."""
    sheet.painter.setPen(Qt.PenStyle.NoPen)
    sheet.painter.setBrush(QColor(sheet.theme.muted))
    x, y = foot.x(), foot.y()
    sheet.painter.drawPolygon(QPolygonF([QPointF(x - 3, y - 6), QPointF(x + 3, y - 6), QPointF(x, y - 1)]))


def _cross(sheet: Sheet, centre: QPointF) -> None:
    """NaN or an infinity where a number belongs."""
    for sign in (-1, 1):
        sheet.line(
            QPointF(centre.x() - 3, centre.y() - 3 * sign),
            QPointF(centre.x() + 3, centre.y() + 3 * sign),
            sheet.theme.wrong,
            width=1.5,
        )
