"""The settings that are changed less often, in a panel that opens under 'more'."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QGridLayout, QLabel, QWidget

from explorer.session.config import DTYPES, EMPTY_ROWS, LAYOUTS, Configuration
from explorer.session.state import StepState
from explorer.ui import readers
from explorer.ui.chips import LEAST_UNNAMED, Choice, FieldChip, MenuChip
from explorer.ui.theme import Theme
from kernels.problem import AttentionProblem

_FIELDS = (
    ("q_len", "query length", readers.whole, "The first so many queries of the input"),
    ("kv_len", "key length", readers.whole, "The first so many keys of the input"),
    ("heads", "heads", readers.whole, "The first so many query heads"),
    ("kv_heads", "kv heads", readers.whole, "Heads of K and V that the query heads share; it divides heads"),
    ("head_dim", "head dim", readers.whole, "The first so many dimensions of each head"),
    ("scale", "scale", readers.number, "Factor on the scores; empty is d^-½"),
    ("softcap", "softcap", readers.number, "Scores are bent to within ± this; empty is off"),
    ("seed", "seed", readers.seed, "For the generated inputs"),
)
_MENUS: tuple[tuple[str, str, Sequence[str], str], ...] = (
    ("dtype", "dtype", DTYPES, "Of q, k, v and o; softmax and accumulation are float32"),
    ("empty_rows", "empty rows", EMPTY_ROWS, "What a row that sees no key gives"),
    ("layout", "file layout", LAYOUTS, "Order of dimensions in a file: b batch, h heads, n length, d dim"),
)
_WORDS = {"zero": "0", "mean-v": "mean of V", "nan": "NaN"}


class MoreSettings(QFrame):
    """``changed``: settings by field name."""

    changed = Signal(dict)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("popover")
        self.fields = {name: FieldChip("", read, tip) for name, _, read, tip in _FIELDS}
        self.menus = {name: MenuChip("", functools.partial(_choices, values)) for name, _, values, _ in _MENUS}
        self._invalid = QLabel()
        self._invalid.setObjectName("invalid")
        self._invalid.setWordWrap(True)
        self._lay_out()

    def _lay_out(self) -> None:
        grid = QGridLayout(self)
        grid.setContentsMargins(16, 12, 16, 12)
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        rows: list[tuple[str, str, QWidget]] = [(name, words, self.fields[name]) for name, words, _, _ in _FIELDS]
        rows += [(name, words, self.menus[name]) for name, words, _, _ in _MENUS]
        for place, (name, words, widget) in enumerate(rows):
            row, column = place % 6, 2 * (place // 6)
            label = QLabel(words)
            label.setObjectName("label")
            grid.addWidget(label, row, column)
            grid.addWidget(widget, row, column + 1)
            if isinstance(widget, FieldChip):
                widget.name = words
                widget.edit.setAccessibleName(words)
                widget.changed.connect(lambda value, name=name: self.changed.emit({name: value}))
                widget.invalid.connect(self._show_invalid)
            elif isinstance(widget, MenuChip):
                widget.setMinimumWidth(LEAST_UNNAMED)
                widget.chosen.connect(lambda value, name=name: self.changed.emit({name: value}))
        grid.addWidget(self._invalid, 6, 0, 1, 4)
        self._invalid.hide()

    def show_state(self, state: StepState) -> None:
        """What was asked for; in grey what is in force where nothing was."""
        asked, configured = state.configuration, state.configured
        problem = configured.problem if configured is not None else None
        for name, field in self.fields.items():
            value = getattr(asked, name)
            field.show_value("" if value is None else str(value).removesuffix(".0"), _in_force(name, problem))
        for name, _, _, tip in _MENUS:
            value = _menu_value(name, asked, problem)
            self.menus[name].show_value(value, _WORDS.get(value, value), tip)

    def set_theme(self, theme: Theme) -> None:
        for menu in self.menus.values():
            menu.set_theme(theme)

    def _show_invalid(self, problem: str) -> None:
        self._invalid.setText(problem)
        self._invalid.setVisible(bool(problem))
        self.adjustSize()


def _choices(values: Sequence[str]) -> list[Choice]:
    return [Choice(value, _WORDS.get(value, value)) for value in values]


def _in_force(name: str, problem: AttentionProblem | None) -> str:
    if problem is None or name == "seed":
        return ""
    if name == "kv_heads":
        return str(problem.kv_head_count)
    if name == "scale":
        return f"{problem.scale_in_force:.4g}"
    value: Any = getattr(problem, name)
    return "off" if value is None else str(value)


def _menu_value(name: str, asked: Configuration, problem: AttentionProblem | None) -> str:
    value = getattr(asked, name)
    return value or (getattr(problem, name) if problem is not None else DTYPES[0])
