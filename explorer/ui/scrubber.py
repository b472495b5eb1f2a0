"""The slider over all grid steps: row blocks as ticks, skipped steps faint, what is done filled."""

from __future__ import annotations

import numpy as np
from PySide6.QtCore import QPointF, QRectF, QSize, Qt, Signal
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPen,
    QPixmap,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractSlider, QSizePolicy, QWidget

from explorer.link.messages import Configured
from explorer.ui.theme import LIGHT, Theme

TRACK, HANDLE, MARGIN = 6, 8, 10
"""Logical pixels: height of the track, radius of the handle, room left and right for the handle and its ring."""
MOST_TICKS = 0.2
"""Ticks a pixel above which they would only be a grey bar, and are left out."""


class Scrubber(QAbstractSlider):
    """``step_requested``: the user wants a grid step (from 0), by pointer or key. Showing a run or a step is silent."""

    step_requested = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.theme = LIGHT
        self._configured: Configured | None = None
        self._silent = False
        self._tracks: tuple[QPixmap, QPixmap] | None = None
        self.setOrientation(Qt.Orientation.Horizontal)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName("grid step")
        self.valueChanged.connect(self._changed)
        self.show_run(None)

    def show_run(self, configured: Configured | None) -> None:
        """Take the steps of a run; None, or a kernel that is not driven, empties the slider."""
        driven = configured if configured is not None and configured.driven else None
        if driven is self._configured and self._tracks is not None:
            return
        self._configured, self._tracks = driven, None
        self.setEnabled(driven is not None)
        self._silent = True
        self.setRange(0, max(driven.steps - 1, 0) if driven is not None else 0)
        self.setPageStep(driven.tile_states.shape[-1] if driven is not None else 1)
        self._silent = False
        self.update()

    def show_step(self, step: int) -> None:
        """Put the handle on a step, unless the user is dragging it."""
        if not self.isSliderDown():
            self._silent = True
            self.setValue(step)
            self._silent = False

    def set_theme(self, theme: Theme) -> None:
        self.theme, self._tracks = theme, None
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(320, 32)

    def minimumSizeHint(self) -> QSize:
        return QSize(120, 32)

    # ------------------------------------------------------------ pointer and keys

    def step_at(self, x: float) -> int:
        """The step under a place of the widget."""
        share = (x - MARGIN) / max(self.width() - 2 * MARGIN, 1)
        return round(min(max(share, 0.0), 1.0) * self.maximum())

    def place_of(self, step: int) -> float:
        """Where the handle stands for a step, in logical pixels from the left."""
        share = step / self.maximum() if self.maximum() else 0.0
        return MARGIN + share * (self.width() - 2 * MARGIN)

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            self.setSliderDown(True)
            self.setValue(self.step_at(event.position().x()))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self.isSliderDown():
            self.setValue(self.step_at(event.position().x()))

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self.setSliderDown(False)
        self.update()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        # up the screen is not on in time: only keys along the track move the handle
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            event.ignore()
            return
        super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._tracks = None

    def _changed(self, step: int) -> None:
        self.update()
        if not self._silent:
            self.step_requested.emit(step)

    # ------------------------------------------------------------ painting

    def paintEvent(self, event: QPaintEvent) -> None:
        ratio = self.devicePixelRatioF()
        if self._tracks is None or self._tracks[0].devicePixelRatio() != ratio:
            self._tracks = self._track(self.theme.muted, ratio), self._track(self.theme.text, ratio)
        to_come, done = self._tracks
        painter = QPainter(self)
        here = self.place_of(self.value())
        painter.setOpacity(0.35)
        painter.drawPixmap(QPointF(0, 0), to_come)
        painter.setOpacity(1.0)
        if self._configured is not None:
            painter.setClipRect(QRectF(0, 0, here, self.height()))
            painter.drawPixmap(QPointF(0, 0), done)
            painter.setClipping(False)
            self._draw_handle(painter, QPointF(here, self.height() / 2))
        painter.end()

    def _draw_handle(self, painter: QPainter, centre: QPointF) -> None:
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.hasFocus():
            painter.setPen(QPen(QColor(self.theme.focus), 2))
            painter.setBrush(Qt.BrushStyle.NoBrush)
            painter.drawEllipse(centre, HANDLE + 1, HANDLE + 1)
        painter.setPen(QPen(QColor(self.theme.text), 3))
        painter.setBrush(QColor(self.theme.panel))
        painter.drawEllipse(centre, HANDLE - 2.5, HANDLE - 2.5)

    def _track(self, colour: str, ratio: float) -> QPixmap:
        """The whole track in one colour, painted once a run and size: thinner where no step is computed."""
        picture = QPixmap(round(self.width() * ratio), round(self.height() * ratio))
        picture.fill(Qt.GlobalColor.transparent)
        picture.setDevicePixelRatio(ratio)
        painter = QPainter(picture)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        middle, width = self.height() / 2, max(self.width() - 2 * MARGIN, 1)
        painter.drawRect(QRectF(MARGIN, middle - 1, width, 2))
        if self._configured is not None:
            for left, right in computed_spans(self._configured.timeline.computed, width):
                painter.drawRect(QRectF(MARGIN + left, middle - TRACK / 2, right - left, TRACK))
            for x in tick_places(self._configured.timeline.row_block, width):
                painter.drawRect(QRectF(MARGIN + x - 0.5, middle - TRACK / 2 - 5, 1, 3))
        painter.end()
        return picture


def computed_spans(computed: np.ndarray, width: int) -> list[tuple[float, float]]:
    """(left, right) in pixels of the runs of steps that are computed: bool (steps,), the last step ends at ``width``.

    Step n stands at n / (steps - 1); each takes the room half way to its neighbours. Runs closer than a pixel join.
    """
    steps = len(computed)
    if not steps or not computed.any():
        return []
    edges = np.diff(np.concatenate([[0], computed.astype(np.int8), [0]]))
    starts, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    scale = width / max(steps - 1, 1)
    lefts = np.clip((starts - 0.5) * scale, 0, width)
    rights = np.clip((ends - 0.5) * scale, 0, width)
    apart = np.flatnonzero(lefts[1:] - rights[:-1] >= 1.0)
    return list(
        zip(
            lefts[np.concatenate([[0], apart + 1])].tolist(),
            rights[np.concatenate([apart, [len(rights) - 1]])].tolist(),
            strict=True,
        )
    )


def tick_places(row_block: np.ndarray, width: int) -> list[float]:
    """Where row blocks begin, in pixels; none where they would run together.

    row_block: int (steps,), the row block of each step; the last step stands at ``width``.
    """
    starts = np.flatnonzero(np.diff(row_block)) + 1
    if not len(starts) or len(starts) > MOST_TICKS * width:
        return []
    return ((starts - 0.5) * width / max(len(row_block) - 1, 1)).tolist()
