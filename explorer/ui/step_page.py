"""The Step page: settings above, three columns of panels, transport and readouts below."""

from __future__ import annotations

from typing import Any

from PySide6.QtCore import QByteArray, Qt
from PySide6.QtWidgets import QSplitter, QVBoxLayout, QWidget

from explorer.session.state import StepState
from explorer.ui.controller import Controller
from explorer.ui.message_bar import MessageBar
from explorer.ui.panel import Panel
from explorer.ui.panel_pair import PanelPair
from explorer.ui.problem_panel import ProblemPanel
from explorer.ui.readouts import Readouts
from explorer.ui.settings import SettingsBar
from explorer.ui.theme import SPACING, Theme
from explorer.ui.transport import Transport
from explorer.ui.views import MatrixView, MemoryView, SoftmaxView, StagesView, TimelineView, ValuesView, View

VIEW_NAMES = ("stages", "matrix", "timeline", "memory", "softmax", "values")
_TITLES = {
    "problem": "Problem", "stages": "Stages of this step", "matrix": "Attention", "timeline": "Timeline",
    "memory": "Memory", "softmax": "Running softmax", "values": "Row",
}  # fmt: skip


class StepPage(QWidget):
    """Holds the panels, hands each state to them, and their intents to the controller."""

    def __init__(self, controller: Controller, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("page")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # holds the focus at first, so that no control looks chosen
        self._controller = controller
        self.settings = SettingsBar()
        self.messages = MessageBar()
        self.transport = Transport()
        self.readouts = Readouts()
        self.problem = ProblemPanel()
        self.views: dict[str, View] = {
            "stages": StagesView(), "matrix": MatrixView(), "timeline": TimelineView(), "memory": MemoryView(),
            "softmax": SoftmaxView(), "values": ValuesView(),
        }  # fmt: skip
        bodies: dict[str, QWidget] = {"problem": self.problem, **self.views}
        self.panels = {name: Panel(_TITLES[name], body) for name, body in bodies.items()}
        self._splitters: dict[str, QSplitter] = {}
        self._lay_out()
        self._connect()

    def show_state(self, state: StepState) -> None:
        """Hand the state to every part; each draws what changed for it."""
        for part in (self.settings, self.messages, self.problem, self.transport, self.readouts):
            part.show_state(state)
        for name, view in self.views.items():
            view.show_state(state)
            self.panels[name].set_sentence(view.sentence())

    def set_theme(self, theme: Theme) -> None:
        parts: tuple[Any, ...] = (self.settings, self.messages, self.problem, self.transport, self.readouts)
        for part in (*parts, *self.views.values(), *self.panels.values()):
            part.set_theme(theme)

    def layout_state(self) -> list[QByteArray]:
        """Sizes of the panels, to be remembered."""
        return [splitter.saveState() for splitter in self._splitters.values()]

    def restore_layout(self, states: list) -> None:
        """Give the panels remembered sizes; what is no such memory is passed over."""
        for splitter, state in zip(self._splitters.values(), states, strict=False):
            if isinstance(state, QByteArray):
                splitter.restoreState(state)

    def _lay_out(self) -> None:
        columns = self._splitter("columns", Qt.Orientation.Horizontal)
        for name, panels, sizes in (
            ("left", ("problem", "stages"), (250, 420)),
            ("middle", ("matrix", "timeline"), (520, 170)),
            ("right", ("memory",), (300, 420)),
        ):
            column = self._splitter(name, Qt.Orientation.Vertical)
            for panel in panels:
                column.addWidget(self.panels[panel])
            if name == "right":
                column.addWidget(self._softmax_and_values())
            column.setSizes(sizes)
            columns.addWidget(column)
        columns.setSizes((236, 800, 364))
        columns.setStretchFactor(1, 1)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(2 * SPACING, SPACING, 2 * SPACING, SPACING)
        outer.setSpacing(SPACING)
        outer.addWidget(self.settings)
        outer.addWidget(self.messages)
        outer.addWidget(columns, 1)
        outer.addWidget(self.transport)
        outer.addWidget(self.readouts)

    def _softmax_and_values(self) -> PanelPair:
        splitter = self._splitter("softmax and values", Qt.Orientation.Vertical)
        panels = (self.panels["softmax"], self.panels["values"])
        return PanelPair(splitter, panels, ("Running softmax", "Row and values"))

    def _splitter(self, name: str, orientation: Qt.Orientation) -> QSplitter:
        splitter = QSplitter(orientation)
        splitter.setChildrenCollapsible(False)
        splitter.setHandleWidth(2 * SPACING)
        self._splitters[name] = splitter
        return splitter

    def _connect(self) -> None:
        controller = self._controller
        self.settings.recent = lambda: controller.session.recent.names
        self.settings.changed.connect(controller.change)
        self.messages.stop_requested.connect(controller.stop)
        self.messages.dismissed.connect(controller.dismiss)
        self.problem.head_requested.connect(controller.navigator.go_to_head)
        self.transport.step_requested.connect(controller.navigator.go_to_step)
        self.transport.grain_chosen.connect(controller.navigator.choose_grain)
        self.transport.speed_chosen.connect(controller.navigator.set_speed)
        for view in self.views.values():
            view.step_requested.connect(controller.navigator.go_to_step)
            view.row_selected.connect(controller.select)
            view.cell_selected.connect(controller.select)
            view.matrix_kind_chosen.connect(controller.choose_matrix)
            view.stage_selected.connect(controller.navigator.choose_stage)
