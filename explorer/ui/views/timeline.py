"""The timeline with the user's hand in it: going to the step at a time, and stepping."""

from __future__ import annotations

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QKeyEvent, QMouseEvent, QWheelEvent
from PySide6.QtWidgets import QWidget

from explorer.ui.views.timeline_canvas import TimelineCanvas
from explorer.units import count_text, second_text


class TimelineView(TimelineCanvas):
    """A click goes to the step that computes at that time; the wheel, left and right move by a step."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)

    def step_at(self, point: QPointF) -> int | None:
        """Step under a point: in the lanes by compute time, in the strip by the whole run's time."""
        if self.empty_text():
            return None
        plan = self.plan_in(QRectF(self.rect()))
        if not plan.left <= point.x() <= plan.right:
            return None
        if plan.overview is not None and point.y() >= plan.overview.top() - 2:
            share = (point.x() - plan.overview.left()) / plan.overview.width()
            return self.schedule.step_at(share * self.schedule.length)
        return self.schedule.step_at(plan.time_at(point.x()))

    def tip_at(self, position: QPointF) -> str:
        step = self.step_at(position)
        if step is None:
            return ""
        timeline = self._configured.timeline
        parts = [f"grid step {count_text(step + 1)}" + ("" if timeline.computed[step] else ", skipped")]
        for name, value in (
            ("loads", timeline.load_us),
            ("compute", timeline.compute_us),
            ("stores", timeline.store_us),
        ):
            parts.append(f"{name}: {second_text(float(value[step]) * 1e-6)}")
        parts += ["compute is S and P, m and l, acc in this order; their shares are not modelled", timeline.model]
        return "\n".join(parts)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        step = self.step_at(event.position())
        if step is not None and event.button() == Qt.MouseButton.LeftButton:
            self.step_requested.emit(step)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if event.buttons() & Qt.MouseButton.LeftButton:
            step = self.step_at(event.position())
            if step is not None and self.state.snapshot is not None and step != self.state.snapshot.step:
                self.step_requested.emit(step)

    def _move(self, by: int) -> None:
        if self.state.snapshot is not None:
            self.step_requested.emit(min(max(self.state.snapshot.step + by, 0), self._configured.steps - 1))

    def wheelEvent(self, event: QWheelEvent) -> None:
        if not self.empty_text() and event.angleDelta().y():
            self._move(-1 if event.angleDelta().y() > 0 else 1)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        move = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}.get(Qt.Key(event.key()))
        if move is None or self.empty_text() or event.modifiers():
            super().keyPressEvent(event)
        else:
            self._move(move)
