"""One row's recurrence with its numbers, and the values of every floating-point equation of the step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from PySide6.QtCore import QPointF, QRectF
from PySide6.QtGui import QColor, QPalette, QResizeEvent
from PySide6.QtWidgets import QAbstractItemView, QHeaderView, QTableView, QWidget

from explorer.link.messages import ProbedValue
from explorer.ui.theme import SPACING, Theme
from explorer.ui.views.base import View
from explorer.ui.views.matrix_words import token_name
from explorer.ui.views.recurrence import fitting_lines, row_lines, row_sentence
from explorer.ui.views.segments import Choice, Segments
from explorer.ui.views.sheet import Sheet
from explorer.ui.views.shown import selected_row
from explorer.ui.views.style import scroll_bars, table as table_style
from explorer.ui.views.values_table import MAXIMUM, MINIMUM, ValuesModel, value_name, value_tip
from explorer.units import plural

TABS = (
    Choice("row", "One row", "Row", "The recurrence of the selected row, with its numbers"),
    Choice("values", "All values", "Values", "Every floating-point equation of the kernel, by source line"),
)


class ValuesView(View):
    """Two pages: 'row' and 'values'. A kernel without named values has only the second."""

    watches: ClassVar[tuple[str, ...]] = ("configured", "snapshot", "cursor", "selection", "inputs")
    name = "Values"
    smallest = (220, 82)
    preferred = (330, 190)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._page = "row"
        self.tabs = Segments(TABS, self)
        self.tabs.chosen.connect(self.show_page)
        self.model = ValuesModel()
        self.table = QTableView(self)
        self.table.setModel(self.model)
        self.table.setAccessibleName("Values of this step")
        self.table.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.table.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.table.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.table.setWordWrap(False)
        self.table.setShowGrid(False)
        self.table.verticalHeader().hide()
        self.table.horizontalHeader().setSectionResizeMode(QHeaderView.ResizeMode.Interactive)
        self.table.hide()
        self.tabs.hide()
        self.restyle()

    @property
    def page(self) -> str:
        """'row' or 'values': what is on show now."""
        named = self.state.snapshot is not None and self.state.snapshot.softmax is not None
        return self._page if named else "values"

    def show_page(self, page: str) -> None:
        self._page = page
        self._refresh()
        self.update()

    def changed(self, parts: frozenset[str]) -> None:
        self._refresh()

    def _refresh(self) -> None:
        there = not self.empty_text()
        self.tabs.setVisible(there)
        self.tabs.set_current(self.page)
        self.tabs.buttons["row"].setEnabled(there and self._has_row())
        self.table.setVisible(there and self.page == "values")
        if there and self.page == "values" and self.state.snapshot is not None:
            before = self.model.rowCount()
            self.model.show_values(self.state.snapshot.values)
            if before != self.model.rowCount():
                self._fit_columns()
        self._place()

    def _has_row(self) -> bool:
        return self.state.snapshot is not None and self.state.snapshot.softmax is not None

    def _fit_columns(self) -> None:
        self.table.resizeColumnsToContents()
        # numbers grow and shrink from step to step: leave room for the longest
        for column in (MINIMUM, MAXIMUM):
            self.table.setColumnWidth(column, max(self.table.columnWidth(column), self._wide("-1.23e+05")))

    def _wide(self, text: str) -> int:
        return self.table.fontMetrics().horizontalAdvance(text) + 4 * SPACING

    # ------------------------------------------------------------ words and painting

    def words(self) -> str:
        snapshot = self.state.snapshot
        assert snapshot is not None
        if self.page == "row":
            row = selected_row(self.state)
            assert row is not None
            tokens = self.state.inputs.q_tokens if self.state.inputs else ()
            return row_sentence(self.state, token_name(tokens, row))
        ran = [value for value in snapshot.values if value.executed]
        return f"{len(ran)} of {plural(len(snapshot.values), 'value')} were computed in this step.{_worst(ran)}"

    def draw(self, sheet: Sheet, area: QRectF) -> None:
        if self.page == "values":
            if not sheet.on_screen:
                self._draw_values(sheet, area)
            return
        row = selected_row(self.state)
        assert row is not None
        theme, line = sheet.theme, sheet.fonts.height("mono")
        y = area.top() + self._head_height()
        self._draw_title(sheet, area, row)
        names = sheet.fonts.width("acc", "mono") + 3 * SPACING
        lines = fitting_lines(row_lines(self.state), int((area.bottom() - y) / (line + 2)))
        for name, text in lines:
            colour = theme.role({"m": "softmax", "α": "softmax", "l": "softmax"}.get(name, "acc"))
            if name:
                sheet.fill(QRectF(area.left() + 2, y + 2, 3, line - 4), colour)
                sheet.text(QRectF(area.left() + 10, y, names, line), name, theme.muted, "mono")
            left = area.left() + 10 + names
            wrong = theme.wrong if name == "O" and text == "NaN" else theme.text
            y += sheet.wrapped(QRectF(left, y, area.right() - left - 2, area.bottom() - y), text, wrong, "mono") + 2

    def _draw_title(self, sheet: Sheet, area: QRectF, row: int) -> None:
        """Which row this is, beside the tabs; in an export, where there are none, at the left."""
        tokens = self.state.inputs.q_tokens if self.state.inputs else ()
        left = area.left() + 2 + (self.tabs.full_width() + 2 * SPACING if sheet.on_screen else 0)
        room = QRectF(left, area.top(), area.right() - left, self._head_height() - SPACING)
        name = token_name(tokens, row)
        first = [] if self.state.selection.row == row else [f"row {name}, first of the block"]
        sheet.fitting(room, [*first, f"row {name}", f"row {row}", str(row)], sheet.theme.text, "small_bold")

    def _draw_values(self, sheet: Sheet, area: QRectF) -> None:
        """For an export, where there is no table to scroll: as many values as there is room for, as text."""
        assert self.state.snapshot is not None
        line, y = sheet.fonts.height("small"), area.top()
        for value in self.state.snapshot.values:
            if y + line > area.bottom():
                return
            first, *rest = value_tip(value).splitlines()
            sheet.fitting(
                QRectF(area.left(), y, area.width(), line), [f"{first}; {rest[-1]}", first, value_name(value)]
            )
            y += line

    # ------------------------------------------------------------ Qt

    def _head_height(self) -> float:
        return self.tabs.sizeHint().height() + SPACING

    def _place(self) -> None:
        high = self.tabs.sizeHint().height()
        self.tabs.setGeometry(2, 0, min(self.tabs.full_width(), self.width() - 4), high)
        top = round(self._head_height())
        self.table.setGeometry(0, top, self.width(), max(self.height() - top, 0))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.tabs.set_theme(theme)
        self.model.theme = theme

    def restyle(self) -> None:
        theme = self.theme
        self.tabs.set_theme(theme)
        palette = QPalette()
        for role, colour in (
            (QPalette.ColorRole.Base, theme.panel),
            (QPalette.ColorRole.Text, theme.text),
            (QPalette.ColorRole.Highlight, theme.faint),
            (QPalette.ColorRole.HighlightedText, theme.text),
            (QPalette.ColorRole.Button, theme.panel),
            (QPalette.ColorRole.ButtonText, theme.muted),
            (QPalette.ColorRole.Window, theme.panel),
            (QPalette.ColorRole.WindowText, theme.text),
        ):
            palette.setColor(role, QColor(colour))
        self.table.setPalette(palette)
        self.table.setStyleSheet(table_style(theme) + scroll_bars(theme))
        self.table.verticalHeader().setDefaultSectionSize(round(self.fonts.height("small")) + SPACING)
        self.table.setFont(self.fonts.small)

    def tip_at(self, position: QPointF) -> str:
        return "α = exp(m before − m after); l = α · l before + sum of P" if self.page == "row" else ""


def _worst(ran: Sequence[ProbedValue]) -> str:
    """The first NaN of the step, or else the first value with an infinity in it (masked scores have such)."""
    if not ran:
        return ""
    first_nan = next((value for value in ran if value.nans), None)
    if first_nan is not None:
        return f" The first NaN is in {value_name(first_nan)}, line {first_nan.line}."
    first = next((value for value in ran if value.nonfinite), None)
    if first is not None:
        return f" No NaN; the first infinity is in {value_name(first)}, line {first.line}."
    return " All are finite."
