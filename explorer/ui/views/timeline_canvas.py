"""Loads, compute and stores of the grid steps over modelled time, the current step boxed, the whole run in a strip."""

from __future__ import annotations

from bisect import bisect_right
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from PySide6.QtCore import QPointF, QRectF
from PySide6.QtWidgets import QWidget

from explorer.link.messages import Configured
from explorer.ui.theme import SPACING
from explorer.ui.views.base import View
from explorer.ui.views.cache import Kept, Layer, Same
from explorer.ui.views.sheet import CENTRE, Sheet, mix
from explorer.ui.views.timeline_model import Lanes, Schedule, lanes, row_blocks, schedule
from explorer.units import count_text, second_text

NARROWEST_STEP = 12.0
"""Logical pixels a step should have on average; longer runs show a part around the current step."""
SMALLEST_THIRDS = 6.0
"""Logical pixels below which the parts of compute are one."""
FUTURE = 0.32
"""Share of its colour that something to come keeps."""


@dataclass(frozen=True)
class Plan:
    """Where things lie, and the time on show."""

    lane_tops: tuple[float, ...]
    lane_height: float
    left: float
    right: float
    labels: QRectF
    overview: QRectF | None
    start_us: float
    end_us: float

    def x_of(self, time: float) -> float:
        return self.left + (time - self.start_us) * (self.right - self.left) / (self.end_us - self.start_us or 1.0)

    def time_at(self, x: float) -> float:
        return self.start_us + (x - self.left) * (self.end_us - self.start_us) / (self.right - self.left or 1.0)


class TimelineCanvas(View):
    """The picture of a state; ``TimelineView`` adds the hand that works with it."""

    watches: ClassVar[tuple[str, ...]] = ("configured", "snapshot")
    name = "Timeline"
    smallest = (320, 104)
    preferred = (620, 130)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._schedule: Kept[Schedule] = Kept()
        self._lanes: Kept[Lanes] = Kept()
        self._blocks: Kept[list[tuple[int, int]]] = Kept()
        self._overview = Layer()

    def restyle(self) -> None:
        self._overview.clear()

    def words(self) -> str:
        configured, snapshot = self._configured, self.state.snapshot
        assert snapshot is not None
        plan, step = self.schedule, snapshot.step
        load = configured.timeline.load_us[step]
        loads = f"its loads take {second_text(load * 1e-6)}" if load else "it loads nothing"
        took = second_text(configured.timeline.compute_us[step] * 1e-6)
        compute = f"compute takes {took}" if configured.timeline.computed[step] else "its tile is skipped"
        waits = plan.compute_start[step] - (plan.compute_end[step - 1] if step else 0.0)
        stall = f" and compute waits {second_text(waits * 1e-6)} for them" if waits > 1e-9 and load else ""
        return (
            f"Grid step {count_text(step + 1)} of {count_text(configured.steps)}: {loads}{stall}; "
            f"{compute}. The whole run takes {second_text(plan.length * 1e-6)}: modelled for {configured.chip.name}, "
            "not measured."
        )

    @property
    def _configured(self) -> Configured:
        assert self.state.configured is not None
        return self.state.configured

    @property
    def schedule(self) -> Schedule:
        configured = self._configured
        return self._schedule.get(Same(configured), lambda: schedule(configured.timeline))

    @property
    def lanes(self) -> Lanes:
        configured = self._configured
        return self._lanes.get(Same(configured), lambda: lanes(configured))

    @property
    def blocks(self) -> list[tuple[int, int]]:
        configured = self._configured
        return self._blocks.get(Same(configured), lambda: row_blocks(configured.timeline))

    # ------------------------------------------------------------ layout

    def plan_in(self, area: QRectF) -> Plan:
        titles = self._titles()
        left = area.left() + 4 + max(self.fonts.width(title) for title in titles) + 2 * SPACING
        right = area.right() - 4
        line = self.fonts.height("small")
        shown = max(int((right - left) / NARROWEST_STEP), 1)
        zoomed = self._configured.steps > shown
        foot = line + (SPACING + 10 if zoomed else 0) + 2
        top = area.top() + 4
        room = area.bottom() - foot - SPACING - top
        lane = room / len(titles)
        labels_top = top + room + SPACING / 2
        overview = QRectF(left, labels_top + line + SPACING, right - left, 9) if zoomed else None
        start, end = self._time_on_show(shown) if zoomed else (0.0, self.schedule.length)
        return Plan(
            tuple(top + lane * index for index in range(len(titles))),
            lane,
            left,
            right,
            QRectF(left, labels_top, right - left, line),
            overview,
            start,
            end,
        )

    def _titles(self) -> list[str]:
        return [*(title for title, _ in self.lanes.loads), "compute", self.lanes.store]

    def _time_on_show(self, count: int) -> tuple[float, float]:
        """Time of ``count`` steps that keep the current one on show; moves by half a page, not at every step."""
        assert self.state.snapshot is not None
        half = max(count // 2, 1)
        first = max(self.state.snapshot.step // half * half - half // 2, 0)
        last = min(first + count, self._configured.steps) - 1
        plan = self.schedule
        return float(plan.load_start[first]), float(max(plan.compute_end[last], plan.store_end[last]))

    def _steps_on_show(self, plan: Plan) -> range:
        """Steps any part of which lies in the time on show."""
        first = int(np.searchsorted(self.schedule.store_end, plan.start_us, side="left"))
        last = int(np.searchsorted(self.schedule.load_start, plan.end_us, side="right"))
        return range(max(first - 1, 0), min(last + 1, self._configured.steps))

    # ------------------------------------------------------------ painting

    def draw(self, sheet: Sheet, area: QRectF) -> None:
        plan = self.plan_in(area)
        for title, top in zip(self._titles(), plan.lane_tops, strict=True):
            room = QRectF(area.left() + 4, top, plan.left - 2 * SPACING - area.left() - 4, plan.lane_height)
            sheet.text(room, title, sheet.theme.muted)
        self._draw_separators(sheet, plan)
        for step in self._steps_on_show(plan):
            self._draw_step(sheet, plan, step)
        self._draw_current(sheet, plan)
        if plan.overview is not None:
            self._draw_overview(sheet, plan, plan.overview)

    def _segment(self, plan: Plan, lane: int, start: float, end: float) -> QRectF:
        """Rectangle of a time in a lane, cut to what is on show; empty outside, never thinner than a pixel inside."""
        left, right = max(plan.x_of(start), plan.left), min(plan.x_of(end), plan.right)
        if left >= plan.right or right <= plan.left:
            return QRectF()
        right = max(right, left + 1.0)
        inset = max(plan.lane_height * 0.14, 1.0)
        return QRectF(left, plan.lane_tops[lane] + inset, right - left, plan.lane_height - 2 * inset)

    def _draw_step(self, sheet: Sheet, plan: Plan, step: int) -> None:
        assert self.state.snapshot is not None
        times, timeline = self.schedule, self._configured.timeline
        share = 1.0 if step <= self.state.snapshot.step else FUTURE
        self._draw_loads(sheet, plan, step)
        lane = len(self.lanes.loads)
        rect = self._segment(plan, lane, float(times.compute_start[step]), float(times.compute_end[step]))
        if not rect.isEmpty():
            self._draw_compute(sheet, rect, bool(timeline.computed[step]), share)
        self._draw_store(sheet, plan, step, share)

    def _draw_compute(self, sheet: Sheet, rect: QRectF, computed: bool, share: float) -> None:
        """S and P, m and l, acc in their order, where there is room for it; a thin line for a skipped step."""
        theme = sheet.theme
        if not computed:
            sheet.fill(
                QRectF(rect.left(), rect.center().y() - 1, rect.width(), 2), mix(theme.muted, theme.panel, share)
            )
        elif rect.width() < SMALLEST_THIRDS:
            wide = QRectF(rect.left(), rect.top(), max(rect.width(), 2.0), rect.height())
            sheet.fill(wide, mix(theme.scores, theme.panel, share))
        else:
            third = rect.width() / 3
            for part, role in enumerate(("scores", "softmax", "acc")):
                piece = QRectF(rect.left() + part * third, rect.top(), third, rect.height())
                sheet.fill(piece, mix(theme.role(role), theme.panel, share))
            sheet.line(rect.topRight(), rect.bottomRight(), theme.panel)

    def _draw_store(self, sheet: Sheet, plan: Plan, step: int, share: float) -> None:
        times = self.schedule
        if times.store_end[step] > times.store_start[step]:
            lane = len(self.lanes.loads) + 1
            rect = self._segment(plan, lane, float(times.store_start[step]), float(times.store_end[step]))
            if not rect.isEmpty():
                sheet.fill(rect, mix(sheet.theme.acc, sheet.theme.panel, share))

    def _draw_loads(self, sheet: Sheet, plan: Plan, step: int) -> None:
        """A step's loads one after another, each as long as its share of the bytes."""
        assert self.state.snapshot is not None
        times, moved = self.schedule, self._configured.timeline.load_bytes[step]
        total = int(moved.sum())
        if not total:
            return
        # while a step computes, the loads of the next one run: those have begun
        share = 1.0 if step <= self.state.snapshot.step else 0.6 if step == self.state.snapshot.step + 1 else FUTURE
        start, length = float(times.load_start[step]), float(times.load_end[step] - times.load_start[step])
        for lane, (_, columns) in enumerate(self.lanes.loads):
            for column in columns:
                end = start + length * int(moved[column]) / total
                rect = self._segment(plan, lane, start, end)
                if moved[column] and not rect.isEmpty():
                    sheet.fill(rect, mix(sheet.theme.role(self.lanes.roles[column]), sheet.theme.panel, share))
                    if rect.width() > 3:
                        sheet.line(rect.topRight(), rect.bottomRight(), sheet.theme.panel)
                start = end

    def _draw_separators(self, sheet: Sheet, plan: Plan) -> None:
        """Lines between row blocks, and their names where they fit."""
        assert self.state.snapshot is not None
        theme, times, step = sheet.theme, self.schedule, self.state.snapshot.step
        bottom = plan.lane_tops[-1] + plan.lane_height
        on_show = self._steps_on_show(plan)
        earliest = max(bisect_right(self.blocks, (on_show.start, self._configured.steps)) - 1, 0)
        for number, (first, stop) in enumerate(self.blocks[earliest:], earliest):
            if first >= on_show.stop:
                break
            start = plan.x_of(float(times.compute_start[first]))
            end = min(plan.x_of(times.until(stop - 1)), plan.right)
            if plan.left < start < plan.right:
                sheet.line(QPointF(start, plan.lane_tops[0]), QPointF(start, bottom), theme.border)
            room = QRectF(max(start, plan.left), plan.labels.top(), end - max(start, plan.left), plan.labels.height())
            room.adjust(2, 0, -2, 0)
            current = first <= step < stop
            block = self._block_name(first, number)
            sheet.fitting(
                room,
                [f"q block {block}", f"q {block}", str(block)],
                theme.text if current else theme.muted,
                "small_bold" if current else "small",
                CENTRE,
            )

    def _block_name(self, step: int, number: int) -> str:
        """Number of the Q block where the kernel's order is known, else that of the row block in the run."""
        q_block = int(self._configured.order[step, 2])
        return str(q_block if q_block >= 0 else number)

    def _draw_current(self, sheet: Sheet, plan: Plan) -> None:
        assert self.state.snapshot is not None
        step, times = self.state.snapshot.step, self.schedule
        left = max(plan.x_of(float(times.compute_start[step])), plan.left)
        computed = bool(self._configured.timeline.computed[step])
        end = times.until(step) if computed else float(times.compute_end[step])
        right = max(min(plan.x_of(end), plan.right), left + 4)
        top = plan.lane_tops[0] - 2
        box = QRectF(left, top, right - left, plan.lane_tops[-1] + plan.lane_height - top + 1)
        sheet.box(box.adjusted(-2, 0, 2, 0), sheet.theme.text, width=2)

    def _draw_overview(self, sheet: Sheet, plan: Plan, rect: QRectF) -> None:
        """The whole run: how much of each moment computes; where the step is, and what the lanes above show."""
        assert self.state.snapshot is not None
        theme = sheet.theme
        configured = self._configured
        key = (Same(configured), rect.width())
        self._overview.draw(sheet, rect, key, lambda inner: self._paint_run(inner, rect))
        length = self.schedule.length or 1.0
        left = rect.left() + rect.width() * plan.start_us / length
        right = rect.left() + rect.width() * min(plan.end_us / length, 1.0)
        sheet.box(QRectF(left, rect.top() - 1, max(right - left, 3), rect.height() + 2), theme.muted)
        here = rect.left() + rect.width() * float(self.schedule.compute_start[self.state.snapshot.step]) / length
        sheet.fill(QRectF(min(here, rect.right() - 2), rect.top() - 2, 2, rect.height() + 4), theme.text)
        label = QRectF(
            2, rect.center().y() - self.fonts.height() / 2, rect.left() - 2 * SPACING - 2, self.fonts.height()
        )
        sheet.fitting(label, ["whole run", "run"], theme.muted)

    def _paint_run(self, sheet: Sheet, rect: QRectF) -> None:
        """Row blocks in alternating shades; 256 of them at most, so that a huge run paints no slower."""
        theme, length = sheet.theme, self.schedule.length or 1.0
        sheet.fill(rect, theme.faint)
        every = max(len(self.blocks) // 256, 1)
        for number, (first, _) in enumerate(self.blocks[::every]):
            stop = self.blocks[min((number + 1) * every, len(self.blocks)) - 1][1]
            left = rect.left() + rect.width() * float(self.schedule.compute_start[first]) / length
            right = rect.left() + rect.width() * float(self.schedule.compute_end[stop - 1]) / length
            if number % 2 == 0:
                sheet.fill(QRectF(left, rect.top(), right - left, rect.height()), mix(theme.scores, theme.panel, 0.5))
