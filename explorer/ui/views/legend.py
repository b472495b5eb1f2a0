"""Colour bars with their numbers, and swatches for what is not a colour value."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor

from explorer.ui.views.levels import Levels
from explorer.ui.views.raster import Marks, draw_image, paint_nonfinite, to_image
from explorer.ui.views.sheet import LEFT, Sheet, is_dark, mix

BAR_WIDTH = 12.0
SWATCH = 12.0


def hatch(sheet: Sheet, rect: QRectF, dense: bool) -> None:
    """Diagonal lines: dense and on a ground for a skipped tile, light for masked cells."""
    theme = sheet.theme
    if dense:
        sheet.fill(rect, mix(theme.faint, theme.panel, 0.6))
    sheet.painter.fillRect(rect, hatch_brush(sheet, dense))


def hatch_brush(sheet: Sheet, dense: bool) -> QBrush:
    theme = sheet.theme
    colour = mix(theme.muted, theme.panel, 0.45 if dense else 0.28)
    return QBrush(QColor(colour), Qt.BrushStyle.BDiagPattern if dense else Qt.BrushStyle.FDiagPattern)


def level_bar(sheet: Sheet, rect: QRectF, levels: Levels, ticks: Sequence[tuple[float, str]] | None = None) -> None:
    """Upright bar, low end at the bottom, with ticks and as many numbers as there is room for."""
    bar = QRectF(rect.left(), rect.top(), BAR_WIDTH, rect.height())
    ramp = levels.table(is_dark(sheet.theme.panel))[np.linspace(255, 0, 128).astype(np.uint8)][:, None]
    draw_image(sheet.painter, bar, to_image(ramp))
    sheet.box(bar, sheet.theme.border)
    line = sheet.fonts.height("small")
    marks = levels.ticks() if ticks is None else ticks
    places = [(bar.bottom() - position * bar.height(), number) for position, number in marks]
    kept: list[float] = []
    for index in [0, len(places) - 1, *range(1, len(places) - 1)] if places else []:
        y, number = places[index]
        top = min(max(y - line / 2, rect.top() - line / 4), rect.bottom() - 3 * line / 4)
        if any(abs(top - other) < line for other in kept):
            continue
        kept.append(top)
        sheet.line(QPointF(bar.right(), y), QPointF(bar.right() + 3, y), sheet.theme.muted)
        room = QRectF(bar.right() + 6, top, rect.right() - bar.right() - 6, line)
        sheet.text(room, number, sheet.theme.muted, "small", LEFT)


def swatch(sheet: Sheet, rect: QRectF, kind: str) -> None:
    """A small square of a kind: masked, skipped, to come, current, nan, +inf, -inf."""
    theme = sheet.theme
    if kind in ("masked", "skipped"):
        sheet.fill(rect, theme.panel)
        hatch(sheet, rect, dense=kind == "skipped")
        sheet.box(rect, theme.border)
    elif kind == "to come":
        sheet.fill(rect, mix("#21918c", theme.panel, 0.3))
        sheet.box(rect, theme.border)
    elif kind == "current":
        sheet.box(rect, theme.scores, width=2)
    else:
        value = {"nan": np.nan, "+inf": np.inf, "-inf": -np.inf}[kind]
        side = max(round(SWATCH * sheet.ratio), 1)
        values = np.full((side, side), value)
        pixels = np.zeros(values.shape, np.uint32)
        paint_nonfinite(pixels, values, Marks.of(theme), sheet.ratio)
        draw_image(sheet.painter, rect, to_image(pixels))


LABELS = {
    "masked": "masked",
    "skipped": "skipped tile",
    "to come": "to come",
    "current": "this tile",
    "nan": "NaN",
    "+inf": "+∞",
    "-inf": "−∞",
}


def swatch_list(sheet: Sheet, rect: QRectF, kinds: Sequence[str]) -> float:
    """Swatches with their names, one a line; returns the height used. Lines that do not fit are left out."""
    line = max(sheet.fonts.height("small"), SWATCH) + 2
    y = rect.top()
    for kind in kinds:
        if y + line > rect.bottom() + 0.5:
            break
        swatch(sheet, QRectF(rect.left(), round(y + (line - SWATCH) / 2), SWATCH, SWATCH), kind)
        room = QRectF(rect.left() + SWATCH + 6, y, rect.width() - SWATCH - 6, line)
        sheet.fitting(room, [LABELS[kind], LABELS[kind].split()[0]], sheet.theme.muted)
        y += line
    return y - rect.top()
