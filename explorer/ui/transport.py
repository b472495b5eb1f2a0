"""Moving through a run: buttons, grain, the slider over all grid steps, speed, and where the run stands."""

from __future__ import annotations

from PySide6.QtCore import QRectF, Signal
from PySide6.QtGui import QColor, QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QHBoxLayout, QLabel, QVBoxLayout, QWidget

from explorer.session.cursor import STAGES
from explorer.session.state import StepState
from explorer.ui.actions import BY_ID
from explorer.ui.chips import Choice, MenuChip
from explorer.ui.icon_button import IconButton
from explorer.ui.scrubber import Scrubber
from explorer.ui.theme import LIGHT, SPACING, Theme
from explorer.ui.views.segments import Choice as Segment, Segments
from explorer.units import count_text, number_text

BUTTONS = ("first", "row-back", "back", "play", "forward", "row-forward", "last")
SPEEDS = (1.0, 2.0, 4.0, 8.0, 16.0, 30.0)
_ICONS = {"back": "step-back", "forward": "step-forward"}
_GRAINS = {"stage": "grain-stage", "step": "grain-step", "row block": "grain-row block"}
_SPEED_TIP = "How fast it plays, in moves of the chosen grain a second"


class Transport(QWidget):
    """``action`` carries the id of an action of the window; the others what the user chose."""

    action = Signal(str)
    grain_chosen = Signal(str)
    speed_chosen = Signal(float)
    step_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = LIGHT
        self._shown: tuple | None = None
        self.buttons = {id_: self._button(id_) for id_ in BUTTONS}
        self.grain = Segments([Segment(grain, grain, grain, BY_ID[id_].tooltip) for grain, id_ in _GRAINS.items()])
        self.grain.chosen.connect(self.grain_chosen)
        self.scrubber = Scrubber()
        self.scrubber.step_requested.connect(self.step_requested)
        self.place, self.tile = QLabel(), QLabel()
        self.tile.setObjectName("muted")
        self.speed = MenuChip("", lambda: [Choice(speed, speed_text(speed)) for speed in SPEEDS])
        self.speed.chosen.connect(lambda speed: self.speed_chosen.emit(speed))
        self._lay_out()
        self._show_reason("Waiting for a kernel to be captured.")

    def show_state(self, state: StepState) -> None:
        """Show where the run stands; does nothing where that is as it was."""
        configured, cursor = state.configured, state.cursor
        shown = (id(configured), cursor, state.playing, state.steps_per_second, _head(state))
        if shown == self._shown:
            return
        self._shown = shown
        self.scrubber.show_run(configured)
        self.scrubber.show_step(cursor.step)
        self.grain.set_current(cursor.grain)
        self.speed.show_value(state.steps_per_second, speed_text(state.steps_per_second), _SPEED_TIP)
        self._show_play(state.playing)
        where, tile = place_text(state)
        self.place.setText(where)
        self.tile.setText(tile)
        self._fit_readout(state)
        if configured is None:
            self._show_reason("Waiting for a kernel to be captured.")
        elif not configured.driven:
            self._show_reason(configured.reason_not_driven or f"{configured.kernel_title} has no grid steps to drive.")
        else:
            self._show_reason("")

    def set_theme(self, theme: Theme) -> None:
        self.theme = theme
        self._shown = None  # a theme may bring another font: measure the readout again
        for button in self.buttons.values():
            button.set_theme(theme)
        self.grain.set_theme(theme)
        self.scrubber.set_theme(theme)
        self.speed.set_theme(theme)
        self.update()

    def text(self) -> str:
        """The readout as one line."""
        return " · ".join(part for part in (self.place.text(), self.tile.text()) if part)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(QPen(QColor(self.theme.border), 1))
        painter.setBrush(QColor(self.theme.panel))
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(0.5, 0.5, -0.5, -0.5), SPACING, SPACING)
        painter.end()

    # ------------------------------------------------------------ parts

    def _button(self, id_: str) -> IconButton:
        button = IconButton(_ICONS.get(id_, id_), inverse=id_ == "play")
        button.setAccessibleName(BY_ID[id_].words)
        if id_ == "play":
            button.setObjectName("primary")
            button.setFixedSize(36, 36)
        button.clicked.connect(lambda: self.action.emit(id_))
        return button

    def _lay_out(self) -> None:
        readout = QVBoxLayout()
        readout.setSpacing(0)
        readout.addWidget(self.place)
        readout.addWidget(self.tile)
        layout = QHBoxLayout(self)
        layout.setContentsMargins(2 * SPACING, SPACING, 2 * SPACING, SPACING)
        layout.setSpacing(SPACING)
        for button in self.buttons.values():
            layout.addWidget(button)
        layout.addSpacing(2 * SPACING)
        layout.addWidget(self.grain)
        layout.addSpacing(SPACING)
        layout.addWidget(self.scrubber, 1)
        layout.addSpacing(SPACING)
        layout.addLayout(readout)
        layout.addSpacing(SPACING)
        layout.addWidget(self.speed)

    def _show_play(self, playing: bool) -> None:
        name = "pause" if playing else "play"
        self.buttons["play"].show_icon(name)
        self.buttons["play"].setAccessibleName(name.capitalize())

    def _show_reason(self, reason: str) -> None:
        """Switch everything off that needs a driven kernel, and say why; '' switches it on."""
        for id_, button in self.buttons.items():
            button.setEnabled(not reason)
            button.setToolTip(reason or BY_ID[id_].tooltip)
        self.grain.setEnabled(not reason)
        self.grain.setToolTip(reason)
        self.scrubber.setToolTip(reason or "Drag to any grid step; thin where the mask empties the tile")
        self.speed.setEnabled(not reason)

    def _fit_readout(self, state: StepState) -> None:
        """Room for the largest numbers of this run, so that the slider keeps its length while numbers grow."""
        if state.configured is None or not state.configured.driven:
            return
        steps, counts = state.configured.steps, state.configured.tile_states.shape
        metrics, small = self.place.fontMetrics(), self.tile.fontMetrics()
        widest_place = _place(steps - 1, steps, STAGES if state.cursor.grain == "stage" else 0)
        widest_tile = _tile(tuple(count - 1 for count in counts), counts[0])
        wanted = max(metrics.horizontalAdvance(widest_place), small.horizontalAdvance(widest_tile)) + SPACING
        self.place.setFixedWidth(max(wanted, small.horizontalAdvance(self.tile.text())))


def speed_text(steps_per_second: float) -> str:
    """'4 steps/s', '1 step/s', '0.5 steps/s'."""
    number = f"{steps_per_second:.0f}" if steps_per_second == round(steps_per_second) else number_text(steps_per_second)
    return f"{number} step/s" if steps_per_second == 1 else f"{number} steps/s"


def place_text(state: StepState) -> tuple[str, str]:
    """('grid step 13 of 36', 'head 7 · q block 3 · kv block 2'): steps count from 1, blocks from 0 as in Pallas."""
    configured, cursor = state.configured, state.cursor
    if configured is None:
        return "", ""
    if not configured.driven:
        return "no grid steps", configured.kernel_title
    step = min(cursor.step, configured.steps - 1)
    stage = cursor.stage if cursor.grain == "stage" or cursor.stage < STAGES else 0
    coords = tuple(int(part) for part in configured.order[step])
    if min(coords) >= 0:
        return _place(step, configured.steps, stage), _tile(coords, configured.problem.batch)
    grid = zip(configured.grid_names, _unravel(step, configured.grid), strict=False)
    return _place(step, configured.steps, stage), " · ".join(f"{name} {place}" for name, place in grid)


def _place(step: int, steps: int, stage: int) -> str:
    after = f" · stage {stage} of {STAGES}" if stage else ""
    return f"grid step {count_text(step + 1)} of {count_text(steps)}{after}"


def _tile(coords: tuple[int, ...], batch: int) -> str:
    parts = [f"{name} {place}" for name, place in zip(("batch", "head", "q block", "kv block"), coords, strict=True)]
    return " · ".join(parts if batch > 1 else parts[1:])


def _unravel(step: int, grid: tuple[int, ...]) -> list[int]:
    """Grid coordinates of a step: the last dimension runs fastest."""
    places = []
    for size in reversed(grid):
        step, place = divmod(step, size)
        places.append(place)
    return places[::-1]


def _head(state: StepState) -> tuple[int, int] | None:
    return (state.snapshot.batch, state.snapshot.head) if state.snapshot is not None else None
