"""Table model of the probed values of a step: one row for each floating-point equation of the kernel."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import PurePath

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QColor

from explorer.link.messages import ProbedValue
from explorer.ui.theme import LIGHT, Theme
from explorer.units import number_text

COLUMNS = ("value", "line", "min", "max", "not finite", "shape", "stage")
MINIMUM, MAXIMUM, NOT_FINITE = 2, 3, 4
_NUMBERS = frozenset({MINIMUM, MAXIMUM, NOT_FINITE})
_RIGHT = int(Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter)
_LEFT = int(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter)
Index = QModelIndex | QPersistentModelIndex


def cell_text(value: ProbedValue, column: int) -> str:
    """Text of one cell; a dash where the equation did not run in this step."""
    low, high = (number_text(end) if math.isfinite(end) else "–" for end in (value.minimum, value.maximum))
    numbers = (low, high, str(value.nonfinite)) if value.executed else ("–", "–", "–")
    return (
        value_name(value),
        f"{PurePath(value.file).name}:{value.line}",
        *numbers,
        "×".join(map(str, value.shape)) or "scalar",
        str(value.stage) if value.stage else "–",
    )[column]


def value_name(value: ProbedValue) -> str:
    """Its own name, else that of the primitive that made it."""
    return value.name or value.primitive


class ValuesModel(QAbstractTableModel):
    """Rows are ``ProbedValue``; red is for what holds a NaN or an infinity and should not."""

    def __init__(self) -> None:
        super().__init__()
        self.values: tuple[ProbedValue, ...] = ()
        self.theme: Theme = LIGHT

    def show_values(self, values: Sequence[ProbedValue]) -> None:
        """Take the values of another step; the selection and the scroll position stay where the rows are the same."""
        same = [(v.name, v.line) for v in values] == [(v.name, v.line) for v in self.values]
        if same:
            self.values = tuple(values)
            if self.values:
                self.dataChanged.emit(self.index(0, 0), self.index(len(self.values) - 1, len(COLUMNS) - 1))
            return
        self.beginResetModel()
        self.values = tuple(values)
        self.endResetModel()

    def rowCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return 0 if parent.isValid() else len(self.values)

    def columnCount(self, parent: Index = QModelIndex()) -> int:  # noqa: B008 - Qt's signature
        return 0 if parent.isValid() else len(COLUMNS)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        if orientation != Qt.Orientation.Horizontal:
            return None
        if role == Qt.ItemDataRole.TextAlignmentRole:
            return _RIGHT if section in _NUMBERS else _LEFT
        return COLUMNS[section] if role == Qt.ItemDataRole.DisplayRole else None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> object:
        value, column = self.values[index.row()], index.column()
        if role == Qt.ItemDataRole.DisplayRole:
            return cell_text(value, column)
        if role == Qt.ItemDataRole.ToolTipRole:
            return value_tip(value)
        if role == Qt.ItemDataRole.TextAlignmentRole and column in _NUMBERS:
            return _RIGHT
        if role == Qt.ItemDataRole.ForegroundRole:
            return QColor(self._ink(value, column))
        return None

    def _ink(self, value: ProbedValue, column: int) -> str:
        if not value.executed:
            return self.theme.muted
        # masked scores hold -inf by design; a NaN is never meant
        return self.theme.wrong if column == NOT_FINITE and value.nans else self.theme.text


def value_tip(value: ProbedValue) -> str:
    """All that is known of a value: primitive, scope, source line, type, exact extremes."""
    lines = [
        f"{value.name or 'value'} = {value.primitive}, {value.dtype} {list(value.shape)}",
        f"{value.file}:{value.line} in {value.function}",
        f"scope: {value.scope or 'none'}",
    ]
    if value.executed:
        lines.append(
            f"finite from {value.minimum} to {value.maximum}" if math.isfinite(value.minimum) else "none finite"
        )
        lines.append(f"{value.nans} NaN, {value.nonfinite - value.nans} infinite")
    else:
        lines.append("did not run in this step")
    return "\n".join(lines)
