"""The five stages of a grid step, with what each consumed, changed and cost, and whether its evidence holds."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QColor, QKeyEvent, QMouseEvent, QPainter, QPen, QPolygonF, QResizeEvent, QWheelEvent
from PySide6.QtWidgets import QScrollBar, QWidget

from explorer.link.messages import StageEvidence
from explorer.ui.theme import SPACING
from explorer.ui.views.base import View
from explorer.ui.views.sheet import CENTRE, Fonts, Sheet, mix, readable_on
from explorer.ui.views.shown import shown_stage
from explorer.ui.views.style import scroll_bars

NUMBER = 20.0
TICK = 14.0
PAD = float(SPACING)
ROLE_OF_STAGE = {1: "other", 2: "k", 3: "scores", 4: "acc", 5: "softmax"}
SOURCES = {"execution": "from the kernel's own run", "compiler": "from the compiler", "model": "a model"}


@dataclass(frozen=True)
class Card:
    """One stage laid out: its texts and its place, before scrolling."""

    stage: StageEvidence
    lines: tuple[str, ...]
    top: float
    height: float


WHOLE, SHORT, SHORTEST = 2, 1, 0


def stage_lines(stage: StageEvidence, detail: int) -> tuple[str, ...]:
    """What a card says under its name: all of it, what changed and the evidence, or the evidence alone."""
    if detail < WHOLE:
        changed = stage.changed if detail == SHORT else ""
        return tuple(text for text in (changed, stage.evidence) if text)
    labelled = (("in: ", stage.consumed), ("", stage.changed), ("cost: ", stage.cost), ("", stage.evidence))
    return tuple(label + text for label, text in labelled if text)


class StagesView(View):
    """A click, or up and down, choose a stage. Cards are whole where there is room, else only the current one is."""

    watches: ClassVar[tuple[str, ...]] = ("configured", "snapshot", "cursor")
    name = "Stages of this step"
    smallest = (160, 120)
    preferred = (210, 380)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.bar = QScrollBar(Qt.Orientation.Vertical, self)
        self.bar.valueChanged.connect(self.update)
        self.bar.hide()
        self.restyle()

    def empty_text(self) -> str:
        nothing = super().empty_text()
        if nothing:
            return nothing
        assert self.state.snapshot is not None
        return "" if self.state.snapshot.stages else "This kernel names no stages."

    def words(self) -> str:
        assert self.state.snapshot is not None
        stages = self.state.snapshot.stages
        reached = [stage for stage in stages if stage.number <= shown_stage(self.state)]
        wrong = [stage.name for stage in reached if stage.holds is False]
        if wrong:
            return f"The evidence does not hold for: {', '.join(wrong)}."
        if all(stage.holds is None for stage in reached):
            return "None of these stages was checked in this step."
        holding = sum(stage.holds is True for stage in reached)
        last = reached[-1] if reached else stages[0]
        return f"{holding} of {len(reached)} stages hold. {last.name}: {last.changed}."

    # ------------------------------------------------------------ layout

    def cards(self, size: QRectF) -> list[Card]:
        """All cards from the top, in as much detail as there is height for; the current one always whole."""
        for detail in (WHOLE, SHORT, SHORTEST):
            cards = self._laid_out(size.width(), detail)
            if not cards or cards[-1].top + cards[-1].height <= size.height():
                break
        return cards

    def _laid_out(self, width: float, detail: int) -> list[Card]:
        assert self.state.snapshot is not None
        current = shown_stage(self.state) if self.state.cursor.grain == "stage" else 0
        cards, y = [], 0.0
        for stage in self.state.snapshot.stages:
            lines = stage_lines(stage, WHOLE if stage.number == current else detail)
            height = card_height(self.fonts, stage.name, lines, width)
            cards.append(Card(stage, lines, y, height))
            y += height + PAD / 2
        return cards

    def _scroll(self) -> None:
        """Show the scroll bar where the cards are higher than the view."""
        if self.empty_text():
            self.bar.hide()
            return
        full = QRectF(self.rect())
        cards = self.cards(full)
        if cards[-1].top + cards[-1].height > full.height():
            cards = self.cards(self._card_area())
        needed = cards[-1].top + cards[-1].height
        self.bar.setVisible(needed > full.height() + 0.5)
        self.bar.setPageStep(int(full.height()))
        self.bar.setSingleStep(round(self.fonts.height("normal")))
        self.bar.setRange(0, max(round(needed - full.height()), 0))
        self._show_current(cards)

    def _show_current(self, cards: list[Card]) -> None:
        current = shown_stage(self.state)
        for card in cards:
            if card.stage.number == current and self.state.cursor.grain == "stage":
                low, high = round(card.top + card.height - self.height()), round(card.top)
                self.bar.setValue(min(max(self.bar.value(), low), high))

    def _card_area(self) -> QRectF:
        gutter = self.bar.sizeHint().width() if self.bar.isVisibleTo(self) else 0
        return QRectF(0, 0, self.width() - gutter, self.height())

    def changed(self, parts: frozenset[str]) -> None:
        self._scroll()

    def restyle(self) -> None:
        self.bar.setStyleSheet(scroll_bars(self.theme))
        self._scroll()

    # ------------------------------------------------------------ painting

    def draw(self, sheet: Sheet, area: QRectF) -> None:
        room = QRectF(area)
        offset = 0.0
        if sheet.on_screen and self.bar.isVisibleTo(self):
            room.setWidth(self._card_area().width())
            offset = float(self.bar.value())
        for card in self.cards(room):
            rect = QRectF(room.left(), room.top() + card.top - offset, room.width(), card.height)
            if rect.bottom() > area.top() and rect.top() < area.bottom():
                self._draw_card(sheet, rect, card)

    def _draw_card(self, sheet: Sheet, rect: QRectF, card: Card) -> None:
        theme, stage = sheet.theme, card.stage
        reached = stage.number <= shown_stage(self.state)
        current = self.state.cursor.grain == "stage" and stage.number == shown_stage(self.state)
        colour = theme.role(ROLE_OF_STAGE.get(stage.number, "other"))
        if current:
            sheet.box(rect, colour, mix(colour, theme.panel, 0.14), radius=6)
        x, y = rect.left() + PAD, rect.top() + PAD
        circle = QRectF(x, y, NUMBER, NUMBER)
        self._draw_number(sheet, circle, stage.number, colour if current else mix(theme.muted, theme.panel, 0.2))
        left = circle.right() + 2 * PAD
        right = rect.right() - PAD
        line = sheet.fonts.height("normal")
        ink = theme.text if reached else mix(theme.muted, theme.panel, 0.85)
        name = QRectF(left, y, right - left - TICK - PAD, rect.bottom() - y)
        lead = max((NUMBER - line) / 2, 0.0)
        used = lead + sheet.wrapped(name.adjusted(0, lead, 0, 0), stage.name, ink, "normal")
        if reached:
            draw_verdict(sheet, QRectF(right - TICK, y + (NUMBER - TICK) / 2, TICK, TICK), stage.holds)
        y += max(used, NUMBER)
        for text in card.lines:
            wrong = reached and stage.holds is False and text == stage.evidence
            quiet = theme.wrong if wrong else theme.muted if reached else mix(theme.muted, theme.panel, 0.85)
            y += sheet.wrapped(QRectF(left, y, right - left, rect.bottom() - y), text, quiet) + 1

    def _draw_number(self, sheet: Sheet, circle: QRectF, number: int, colour: str) -> None:
        painter = sheet.painter
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        painter.setPen(Qt.PenStyle.NoPen)
        painter.setBrush(QColor(colour))
        painter.drawEllipse(circle)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        sheet.text(circle, str(number), readable_on(colour), "small_bold", CENTRE)

    # ------------------------------------------------------------ Qt

    def stage_at(self, point: QPointF) -> StageEvidence | None:
        """Stage whose card lies under a point of the widget."""
        if self.empty_text():
            return None
        for card in self.cards(self._card_area()):
            if card.top <= point.y() + self.bar.value() < card.top + card.height:
                return card.stage
        return None

    def tip_at(self, position: QPointF) -> str:
        stage = self.stage_at(position)
        if stage is None:
            return ""
        verdict = {True: "holds", False: "does not hold", None: "was not checked"}[stage.holds]
        return "\n".join(
            [
                f"{stage.number} {stage.name}",
                f"consumed: {stage.consumed}",
                f"changed: {stage.changed}",
                f"cost: {stage.cost}",
                f"evidence {verdict}: {stage.evidence}",
                f"source: {SOURCES[stage.source]}",
            ]
        )

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        stage = self.stage_at(event.position())
        if stage is not None and event.button() == Qt.MouseButton.LeftButton:
            self.stage_selected.emit(stage.number)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        move = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}.get(Qt.Key(event.key()))
        if move is None or self.empty_text() or event.modifiers() & Qt.KeyboardModifier.ControlModifier:
            super().keyPressEvent(event)
            return
        self.stage_selected.emit(min(max(shown_stage(self.state) + move, 1), 5))

    def wheelEvent(self, event: QWheelEvent) -> None:
        self.bar.setValue(self.bar.value() - round(event.angleDelta().y() / 120 * 3 * self.bar.singleStep()))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        wide = self.bar.sizeHint().width()
        self.bar.setGeometry(self.width() - wide, 0, wide, self.height())
        self._scroll()


def card_height(fonts: Fonts, name: str, lines: tuple[str, ...], width: float) -> float:
    """Height of a card of ``width``: its name beside the number, its lines wrapped below."""
    inner = width - PAD - NUMBER - 2 * PAD - PAD
    lead = max((NUMBER - fonts.height("normal")) / 2, 0.0)
    head = max(lead + fonts.wrapped_height(name, inner - TICK - PAD, "normal"), NUMBER)
    return PAD + head + sum(fonts.wrapped_height(line, inner) + 1 for line in lines) + PAD


def draw_verdict(sheet: Sheet, rect: QRectF, holds: bool | None) -> None:
    """A drawn tick, cross or dash: told apart by shape, not by colour alone."""
    theme, painter = sheet.theme, sheet.painter
    colour = {True: theme.right, False: theme.wrong, None: theme.muted}[holds]
    pen = QPen(QColor(colour), 2.0, Qt.PenStyle.SolidLine, Qt.PenCapStyle.RoundCap, Qt.PenJoinStyle.RoundJoin)
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(pen)
    x, y, side = rect.left(), rect.top(), rect.width()

    def at(across: float, down: float) -> QPointF:
        return QPointF(x + across * side, y + down * side)

    if holds is True:
        painter.drawPolyline(QPolygonF([at(0.12, 0.55), at(0.4, 0.82), at(0.9, 0.2)]))
    elif holds is False:
        painter.drawLine(at(0.2, 0.2), at(0.8, 0.8))
        painter.drawLine(at(0.8, 0.2), at(0.2, 0.8))
    else:
        painter.drawLine(at(0.25, 0.5), at(0.75, 0.5))
    painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
