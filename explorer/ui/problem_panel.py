"""The problem as it is computed, and which of its heads is shown."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QGridLayout, QHBoxLayout, QLabel, QVBoxLayout, QWidget

from explorer.link.messages import Configured
from explorer.session.state import StepState
from explorer.ui.chips import Choice, MenuChip
from explorer.ui.icon_button import IconButton
from explorer.ui.theme import Theme
from explorer.units import count_text, number_text
from kernels.problem import AttentionProblem

LANES = 128
"""Width of a TPU vector register: the last dimension is laid out in multiples of it."""


def mask_text(problem: AttentionProblem) -> str:
    """'causal, top-left', 'window 128,0 · segments', 'none'."""
    parts = []
    if problem.causal:
        parts.append(f"causal, {problem.alignment}")
    if problem.window is not None:
        parts.append("window " + ",".join("∞" if side is None else str(side) for side in problem.window))
    parts += [
        name
        for name, array in (
            ("segments", problem.q_segment_ids), ("kv lengths", problem.kv_lengths), ("array", problem.mask),
        )
        if array is not None
    ]  # fmt: skip
    return " · ".join(parts) or "none"


def scale_text(problem: AttentionProblem) -> str:
    """The scale in force, and whether it is the usual one: '0.177 = d^-½'."""
    scale = problem.scale_in_force
    usual = abs(scale - problem.head_dim**-0.5) < 1e-9
    return f"{scale:.4g} = d^-½" if usual else f"{scale:.4g}, not d^-½"


def facts(configured: Configured) -> list[tuple[str, str]]:
    """Name and value of everything that defines the problem."""
    p = configured.problem
    kv = p.kv_head_count
    heads = count_text(p.heads) if kv == p.heads else f"{p.heads} on {kv} kv"
    padded = -(-p.head_dim // LANES) * LANES
    rows = [
        ("Query length", count_text(p.q_len)),
        ("Key length", count_text(p.kv_len)),
        ("Heads", heads if p.batch == 1 else f"{heads} · batch {p.batch}"),
        ("Head dim", str(p.head_dim) if padded == p.head_dim else f"{p.head_dim} → {padded} lanes"),
        ("dtype", p.dtype),
        ("Mask", mask_text(p)),
        ("Scale", scale_text(p)),
        ("Softcap", "off" if p.softcap is None else number_text(p.softcap)),
    ]
    if p.bias is not None:
        rows.append(("Bias", "added"))
    if p.empty_rows != "zero":
        rows.append(("Empty rows", {"mean-v": "mean of V", "nan": "NaN"}[p.empty_rows]))
    return rows


class ProblemPanel(QWidget):
    """``head_requested``: batch element and query head, both from 0."""

    head_requested = Signal(int, int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._configured: Configured | None = None
        self._place = (0, 0)
        self._labels: tuple[str, ...] = ()
        self._grid = QGridLayout()
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setHorizontalSpacing(8)
        self._grid.setVerticalSpacing(4)
        self._grid.setColumnStretch(1, 1)
        layout = QVBoxLayout(self)
        layout.setContentsMargins(0, 0, 0, 0)
        layout.setSpacing(4)
        layout.addLayout(self._grid)
        layout.addLayout(self._head_row())
        self.label = QLabel()
        self.label.setObjectName("muted")
        self.label.setWordWrap(True)
        layout.addWidget(self.label)
        layout.addStretch(1)

    def _head_row(self) -> QHBoxLayout:
        self.batch, self.head = MenuChip("batch", self._batches), MenuChip("head", self._heads)
        self.back, self.forward = IconButton("previous"), IconButton("next")
        for button, by, tip in ((self.back, -1, "Previous head ([)"), (self.forward, 1, "Next head (])")):
            button.setFixedSize(28, 28)
            button.setToolTip(tip)
            button.setAccessibleName(tip)
            button.clicked.connect(lambda _=False, by=by: self._move(by))
        self.batch.chosen.connect(lambda batch: self.head_requested.emit(batch, self._place[1]))
        self.head.chosen.connect(lambda head: self.head_requested.emit(self._place[0], head))
        self.batch.hide()
        row = QHBoxLayout()
        row.setSpacing(4)
        for widget in (self.batch, self.head, self.back, self.forward):
            row.addWidget(widget)
        row.addStretch(1)
        return row

    def _batches(self) -> list[Choice]:
        count = self._configured.problem.batch if self._configured is not None else 0
        return [Choice(batch, f"batch {batch}") for batch in range(count)]

    def _heads(self) -> list[Choice]:
        count = self._configured.problem.heads if self._configured is not None else 0
        labels = (*self._labels[:count], *[""] * (count - len(self._labels)))
        return [Choice(head, f"head {head}" + (f": {label}" if label else "")) for head, label in enumerate(labels)]

    def show_state(self, state: StepState) -> None:
        """Facts of the configured problem; the head is that of the snapshot."""
        if state.configured is not None and state.configured is not self._configured:
            self._configured = state.configured
            self._fill(state.configured)
        if state.snapshot is None or self._configured is None:
            return
        self._place = batch, head = state.snapshot.batch, state.snapshot.head
        problem = self._configured.problem
        self._labels = state.inputs.head_labels if state.inputs is not None else ()
        self.batch.show_value(batch, f"{batch} (0–{problem.batch - 1})", "Which batch element is shown, from 0")
        self.head.show_value(head, f"{head} (0–{problem.heads - 1})", "Which query head is shown, from 0")
        self.back.setEnabled((batch, head) != (0, 0))
        self.forward.setEnabled((batch, head) != (problem.batch - 1, problem.heads - 1))
        self.label.setText(self._labels[head] if head < len(self._labels) else "")
        self.label.setVisible(bool(self.label.text()))

    def set_theme(self, theme: Theme) -> None:
        self.batch.set_theme(theme)
        self.head.set_theme(theme)
        self.back.set_theme(theme)
        self.forward.set_theme(theme)

    def _fill(self, configured: Configured) -> None:
        while self._grid.count():
            item = self._grid.takeAt(0)
            widget = item.widget() if item is not None else None
            if widget is not None:
                widget.hide()
                widget.deleteLater()
        for row, (name, value) in enumerate(facts(configured)):
            left, right = QLabel(name), QLabel(value)
            left.setObjectName("label")
            left.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignLeft)
            right.setAlignment(Qt.AlignmentFlag.AlignTop | Qt.AlignmentFlag.AlignRight)
            right.setWordWrap(True)
            self._grid.setRowMinimumHeight(row, left.fontMetrics().height())  # words that wrap would be squeezed
            self._grid.addWidget(left, row, 0)
            self._grid.addWidget(right, row, 1)
        self.batch.setVisible(configured.problem.batch > 1)
        for widget in (self.batch, self.head, self.back, self.forward):
            widget.setEnabled(configured.driven)

    def _move(self, by: int) -> None:
        if self._configured is None:
            return
        heads = self._configured.problem.heads
        place = self._place[0] * heads + self._place[1] + by
        if 0 <= place < heads * self._configured.problem.batch:
            self.head_requested.emit(*divmod(place, heads))
