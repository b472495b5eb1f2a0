"""The settings along the top: what is computed, by which kernel, in which tiles. They take effect by themselves."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QPoint, QRectF, QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QToolButton, QVBoxLayout, QWidget

from explorer.session import inputs as known_inputs
from explorer.session.config import MASKS, Configuration, format_window
from explorer.session.problem import setting
from explorer.session.state import StepState
from explorer.ui import icons, readers
from explorer.ui.chips import Choice, FieldChip, MenuChip
from explorer.ui.more_settings import MoreSettings
from explorer.ui.controller import OWN_TO_AN_INPUT
from explorer.ui.theme import LIGHT, Theme

OPEN_FILE = "open a file"
BLOCK_STEPS = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024, 2048)
_MASK_WORDS = {
    "none": "none", "causal": "causal", "causal-bottom-right": "causal, bottom-right", "window": "window",
    "segments": "segments", "array": "array",
}  # fmt: skip


class SettingsBar(QFrame):
    """``changed``: settings by field name. ``open_file_requested``: the user wants to choose a file."""

    changed = Signal(dict)
    open_file_requested = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("bar")
        self._state = StepState()
        self.kernel = MenuChip("kernel", self._kernels)
        self.input = MenuChip("input", self._inputs, elastic=True)
        self.block_q = FieldChip("block q", readers.whole, "Query rows in a tile (Up, Down: powers of two)", BLOCK_STEPS)
        self.block_kv = FieldChip("block kv", readers.whole, "Keys in a tile (Up, Down: powers of two)", BLOCK_STEPS)
        self.mask = MenuChip("mask", lambda: [Choice(mask, _MASK_WORDS[mask]) for mask in MASKS])
        self.window_keys = FieldChip("window", readers.window, "Keys seen to the left,right; an empty side is unbounded")
        self.chip = MenuChip("chip", self._chips)
        self.more = MoreSettings(self)
        self.more_button = QToolButton()
        self._logo = _Logo()
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
        self.input.show_value(asked.input, self._input_title(asked), self._input_tip())
        for chip, name in ((self.block_q, "block_q"), (self.block_kv, "block_kv")):
            value = getattr(asked, name)
            in_force = getattr(configured.blocks, name) if configured is not None else ""
            chip.show_value(str(value or in_force), "as it suits")
        mask = self._mask_in_force()
        self.mask.show_value(mask, _MASK_WORDS[mask], "Which keys a query sees")
        self.window_keys.setVisible(mask == "window" or asked.window is not None)
        self.window_keys.show_value(format_window(asked.window) if asked.window else "", "left,right")
        self.chip.show_value(asked.chip, asked.chip, self._chip_tip())
        self.more.show_state(state)

    def set_theme(self, theme: Theme) -> None:
        for chip in (self.kernel, self.input, self.mask, self.chip):
            chip.set_theme(theme)
        self.more_button.setIcon(icons.icon("more", theme))
        self.more.set_theme(theme)
        self._logo.set_theme(theme)

    def show_invalid(self, problem: str) -> None:
        """One line under the settings; '' takes it away."""
        self._invalid.setText(problem)
        self._invalid.setVisible(bool(problem))

    def _mask_in_force(self) -> str:
        asked, inputs = self._state.configuration, self._state.inputs
        if asked.mask is not None:
            return asked.mask
        if asked.window is not None:
            return "window"
        if inputs is None:
            return "none"
        suits = setting(asked, inputs, "mask", None)
        carried = "segments" if inputs.q_segment_ids is not None else "array" if inputs.mask is not None else "none"
        return suits or carried

    def _input_title(self, asked: Configuration) -> str:
        inputs = self._state.inputs
        title = inputs.title if inputs is not None and inputs.name == asked.input else asked.input
        titles = {entry.name: entry.title for entry in known_inputs.names()}
        return titles.get(asked.input, title).split(": ")[0].replace("\\", "/").split("/")[-1]

    def _input_tip(self) -> str:
        inputs = self._state.inputs
        if inputs is None:
            return "Where q, k and v come from"
        return "\n".join(part for part in (inputs.title, inputs.source, inputs.licence) if part)

    def _kernel_tip(self) -> str:
        configured = self._state.configured
        return configured.kernel_title if configured is not None else "Which kernel computes the attention"

    def _chip_tip(self) -> str:
        configured = self._state.configured
        return f"Limits and rates of {configured.chip.name}: {configured.chip.source}" if configured else "TPU modelled"

    # ---------------------------------------------------------------- choices

    def _kernels(self) -> list[Choice]:
        if self._state.kernels is None:
            name = self._state.configuration.kernel
            return [Choice(name, name)]
        return [
            Choice(k.name, f"{k.name}: {k.title}" if k.title != k.name else k.name, k.refusal)
            for k in self._state.kernels.kernels
        ]

    def _chips(self) -> list[Choice]:
        known = self._state.kernels.chips if self._state.kernels is not None else (self._state.configuration.chip,)
        return [Choice(name, name) for name in known]

    def _inputs(self) -> list[Choice]:
        built_in = [Choice(entry.name, entry.title, group=entry.group) for entry in known_inputs.names()]
        return [*built_in, Choice(OPEN_FILE, "Open a file…  (Ctrl+O)", group="Files")]

    # ---------------------------------------------------------------- intents

    def _choose_input(self, name: str) -> None:
        if name == OPEN_FILE:
            self.open_file_requested.emit()
        else:
            self.changed.emit({"input": name, **dict.fromkeys(OWN_TO_AN_INPUT)})

    def _choose_mask(self, mask: str) -> None:
        """Mask window starts with a quarter of the keys to the left; another mask leaves the window behind."""
        window = None
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

    # ---------------------------------------------------------------- making

    def _lay_out(self) -> None:
        wordmark = QLabel("Tilescope")
        wordmark.setObjectName("wordmark")
        row = QHBoxLayout()
        row.setSpacing(8)
        chips = (self.kernel, self.input, self.block_q, self.block_kv, self.mask, self.window_keys, self.chip)
        for widget in (self._logo, wordmark, *chips, self.more_button):
            row.addWidget(widget)
        row.addStretch(1)
        self.more_button.setText("more")
        self.more_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.more_button.setToolTip("Lengths, heads, dtype, scale, softcap, seed, empty rows, layout")
        self.more_button.setFixedHeight(28)
        self._invalid.setObjectName("invalid")
        self._invalid.hide()
        layout = QVBoxLayout(self)
        layout.setContentsMargins(12, 8, 12, 8)
        layout.setSpacing(4)
        layout.addLayout(row)
        layout.addWidget(self._invalid)
        # Tab goes through the settings from left to right
        order = (self.kernel, self.input, self.block_q.edit, self.block_kv.edit, self.mask, self.window_keys.edit,
                 self.chip, self.more_button)  # fmt: skip
        for one, other in zip(order, order[1:], strict=False):
            QWidget.setTabOrder(one, other)

    def _connect(self) -> None:
        for chip, name in ((self.kernel, "kernel"), (self.chip, "chip")):
            chip.chosen.connect(lambda value, name=name: self.changed.emit({name: value}))
        fields: tuple[tuple[FieldChip, str], ...] = (
            (self.block_q, "block_q"), (self.block_kv, "block_kv"), (self.window_keys, "window"),
        )  # fmt: skip
        for field, name in fields:
            field.changed.connect(lambda value, name=name: self.changed.emit({name: value}))
            field.invalid.connect(self.show_invalid)
        self.input.chosen.connect(self._choose_input)
        self.mask.chosen.connect(self._choose_mask)
        self.more_button.clicked.connect(self._open_more)
        self.more.changed.connect(self.changed)

    def closeEvent(self, event: Any) -> None:
        self.more.close()
        super().closeEvent(event)


class _Logo(QWidget):
    """The tile grid before the name."""

    def __init__(self) -> None:
        super().__init__()
        self.setFixedSize(QSize(20, 20))
        self._theme = LIGHT

    def set_theme(self, theme: Theme) -> None:
        self._theme = theme
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        icons.paint(painter, QRectF(self.rect()), "app", self._theme.text)
        painter.end()
