"""The settings along the top: what is computed, by which kernel, in which tiles. They take effect by themselves."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from PySide6.QtCore import QPoint, Qt, Signal
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from explorer.session.config import OF_AN_INPUT, format_window
from explorer.session.state import StepState
from explorer.ui import readers, style
from explorer.ui.chips import FieldChip, MenuChip
from explorer.ui.icon_button import Icon, IconButton
from explorer.ui.more_settings import MoreSettings
from explorer.ui.setting_choices import (
    MASK_WORDS,
    OPEN_FILE,
    block_note,
    chip_choices,
    input_choices,
    input_tip,
    input_title,
    kernel_choices,
    mask_choices,
    mask_in_force,
)
from explorer.ui.theme import Theme

BLOCK_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
_BLOCK_TIP = "{} in a tile; Up and Down go to the next power of two; empty is what suits the input"
_WINDOW_TIP = "Keys seen left,right; an empty side is unbounded"


class SettingsBar(QFrame):
    """``changed``: settings by field name. ``open_file_requested``: the user wants to choose a file.

    ``recent`` gives the inputs used last, newest first; it is asked when the menu of inputs opens.
    """

    changed = Signal(dict)
    open_file_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("bar")
        self._state = StepState()
        self._problems: dict[str, str] = {}
        self.recent: Callable[[], Sequence[str]] = tuple
        self.kernel = MenuChip("kernel", lambda: kernel_choices(self._state), key="Alt+K")
        self.input = MenuChip("input", lambda: input_choices(self.recent()), elastic=True, key="Alt+I")
        self.block_q = FieldChip("block q", readers.whole, _BLOCK_TIP.format("Query rows"), BLOCK_STEPS, "Alt+Q")
        self.block_kv = FieldChip("block kv", readers.whole, _BLOCK_TIP.format("Keys"), BLOCK_STEPS, "Alt+B")
        self.mask_rule = MenuChip("mask", lambda: mask_choices(self._state), key="Alt+M")
        self.window_keys = FieldChip("window", readers.window, _WINDOW_TIP, key="Alt+W")
        self.chip = MenuChip("chip", lambda: chip_choices(self._state), key="Alt+C")
        self.more = MoreSettings(self)
        self.more_button = IconButton("more")
        self._logo = Icon("app", 20)
        self._invalid = QLabel()
        self._lay_out()
        self._connect()

    # ---------------------------------------------------------------- state

    def show_state(self, state: StepState) -> None:
        """Show the settings in force: what was asked for, else what suits the input."""
        old, self._state = self._state, state
        parts = ("configuration", "configured", "inputs", "kernels")
        if all(getattr(old, part) is getattr(state, part) for part in parts) and self.kernel.value:
            return
        asked, configured = state.configuration, state.configured
        self.kernel.show_value(asked.kernel, asked.kernel, self._kernel_tip())
        self.input.show_value(asked.input, input_title(state), input_tip(state))
        for chip, name in ((self.block_q, "block_q"), (self.block_kv, "block_kv")):
            value = getattr(asked, name)
            in_force = getattr(configured.blocks, name) if configured is not None else ""
            chip.show_value(str(value or in_force), "as it suits", block_note(state, name))
        mask = mask_in_force(state)
        self.mask_rule.show_value(mask, MASK_WORDS[mask], "Which keys a query sees")
        self.window_keys.setVisible(mask == "window" or asked.window is not None)
        self.window_keys.show_value(format_window(asked.window) if asked.window else "", "left,right")
        self.chip.show_value(asked.chip, asked.chip, self._chip_tip())
        self.more.show_state(state)

    def set_theme(self, theme: Theme) -> None:
        for chip in (self.kernel, self.input, self.mask_rule, self.chip):
            chip.set_theme(theme)
        self.more_button.set_theme(theme)
        self.more.set_theme(theme)

    def show_invalid(self, name: str, problem: str) -> None:
        """One line under the settings on the field ``name``; '' takes it away."""
        self._problems[name] = problem
        self._invalid.setText(" · ".join(text for text in self._problems.values() if text))
        self._invalid.setVisible(bool(self._invalid.text()))

    def _kernel_tip(self) -> str:
        configured = self._state.configured
        return configured.kernel_title if configured is not None else "Which kernel computes the attention"

    def _chip_tip(self) -> str:
        configured = self._state.configured
        return f"Limits and rates of {configured.chip.name}: {configured.chip.source}" if configured else "TPU modelled"

    # ---------------------------------------------------------------- intents

    def _choose_input(self, name: str) -> None:
        if name == OPEN_FILE:
            self.open_file_requested.emit()
        else:
            self.changed.emit({"input": name, **dict.fromkeys(OF_AN_INPUT)})

    def _choose_mask(self, mask: str) -> None:
        """Mask window starts with a quarter of the keys to the left; another mask leaves the window behind."""
        window: tuple[int | None, int | None] | None = None
        if mask == "window":
            configured = self._state.configured
            window = (max(1, configured.problem.kv_len // 4) if configured is not None else 128, 0)
            window = self._state.configuration.window or window
        self.changed.emit({"mask": mask, "window": window})

    def _open_more(self) -> None:
        self.more.adjustSize()
        corner = self.more_button.mapToGlobal(QPoint(self.more_button.width(), self.more_button.height() + 4))
        self.more.move(corner.x() - self.more.width(), corner.y())
        self.more.show()
        self.more.fields["q_len"].edit.setFocus(Qt.FocusReason.PopupFocusReason)

    # ---------------------------------------------------------------- making

    def _lay_out(self) -> None:
        wordmark = QLabel("Tilescope")
        wordmark.setObjectName("wordmark")
        row = QHBoxLayout()
        row.setSpacing(8)
        chips: tuple[QWidget, ...] = (
            self.kernel, self.input, self.block_q, self.block_kv, self.mask_rule, self.window_keys, self.chip,
        )  # fmt: skip
        for widget in (self._logo, wordmark, *chips, self.more_button):
            row.addWidget(widget)
        row.addStretch(1)
        self.more_button.setToolTip("Lengths, heads, dtype, scale, softcap, seed, empty rows, layout (Alt+O)")
        QShortcut(QKeySequence("Alt+O"), self, self._open_more)
        self.more_button.setFixedHeight(28)
        self.more_button.setFont(style.ui_font())
        self.more_button.show_text("more")
        self._invalid.setObjectName("invalid")
        self._invalid.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(4)
        layout.addLayout(row)
        layout.addWidget(self._invalid)
        # Tab goes through the settings from left to right
        order: tuple[QWidget, ...] = (
            self.kernel, self.input, self.block_q.edit, self.block_kv.edit, self.mask_rule, self.window_keys.edit,
            self.chip, self.more_button,
        )  # fmt: skip
        for one, other in itertools.pairwise(order):
            QWidget.setTabOrder(one, other)

    def _connect(self) -> None:
        for chip, name in ((self.kernel, "kernel"), (self.chip, "chip")):
            chip.chosen.connect(lambda value, name=name: self.changed.emit({name: value}))
        fields: tuple[tuple[FieldChip, str], ...] = (
            (self.block_q, "block_q"), (self.block_kv, "block_kv"), (self.window_keys, "window"),
        )  # fmt: skip
        for field, name in fields:
            field.changed.connect(lambda value, name=name: self.changed.emit({name: value}))
            field.invalid.connect(lambda problem, name=name: self.show_invalid(name, problem))
        self.input.chosen.connect(self._choose_input)
        self.mask_rule.chosen.connect(self._choose_mask)
        self.more_button.clicked.connect(self._open_more)
        self.more.changed.connect(self.changed)
