"""Painting with text that is measured as it is placed, so that nothing overlaps and nothing is cut.

A ``Sheet`` wraps a ``QPainter`` (of a screen, an image or a vector file). Every text goes through it and is recorded
with the room it had, which is what the tests of the views look at.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

from PySide6.QtCore import QPointF, QRectF, Qt
from PySide6.QtGui import QBrush, QColor, QFont, QFontDatabase, QFontMetricsF, QPainter, QPen

from explorer.ui.theme import Theme

LEFT = Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignVCenter
RIGHT = Qt.AlignmentFlag.AlignRight | Qt.AlignmentFlag.AlignVCenter
CENTRE = Qt.AlignmentFlag.AlignCenter
_WRAP = int(Qt.TextFlag.TextWordWrap)
_SLACK = 0.75
"""Logical pixels by which measured and painted advance may differ through hinting."""


@dataclass(frozen=True)
class PlacedText:
    """A text as painted: the room its glyphs take, and the room it was given."""

    text: str
    ink: QRectF
    limit: QRectF


class Fonts:
    """The few fonts of a view, all derived from its widget font, with their metrics."""

    def __init__(self, base: QFont) -> None:
        self.normal = QFont(base)
        self.small = _scaled(base, 0.9)
        self.bold = QFont(base)
        self.bold.setBold(True)
        self.small_bold = QFont(self.small)
        self.small_bold.setBold(True)
        self._base = base
        self._metrics: dict[str, QFontMetricsF] = {}
        # the same few texts are measured at every step; asking the font engine each time takes most of a repaint
        self.width = lru_cache(4096)(self._width)
        self.wrapped_height = lru_cache(1024)(self._wrapped_height)

    @cached_property
    def mono(self) -> QFont:
        font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
        if self._base.pixelSize() > 0:
            font.setPixelSize(self._base.pixelSize())
        else:
            font.setPointSizeF(self._base.pointSizeF())
        return font

    def get(self, kind: str) -> QFont:
        font: QFont = getattr(self, kind)
        return font

    def metrics(self, kind: str) -> QFontMetricsF:
        if kind not in self._metrics:
            self._metrics[kind] = QFontMetricsF(self.get(kind))
        return self._metrics[kind]

    def _width(self, text: str, kind: str = "small") -> float:
        return self.metrics(kind).horizontalAdvance(text)

    def height(self, kind: str = "small") -> float:
        return self.metrics(kind).height()

    def _wrapped_height(self, text: str, width: float, kind: str = "small") -> float:
        """Height that ``Sheet.wrapped`` needs for ``text`` in ``width`` logical pixels."""
        if not text:
            return 0.0
        room = QRectF(0, 0, width, 1e5)
        return self.metrics(kind).boundingRect(room, _wrap_flags(self, text, width, kind), text).height()


def _scaled(font: QFont, factor: float) -> QFont:
    result = QFont(font)
    if font.pixelSize() > 0:
        result.setPixelSize(max(round(font.pixelSize() * factor), 1))
    else:
        result.setPointSizeF(font.pointSizeF() * factor)
    return result


def _wrap_flags(fonts: Fonts, text: str, width: float, kind: str) -> int:
    """Words wrap whole; a word wider than the room (a path, a number) wraps anywhere."""
    if any(fonts.width(word, kind) > width for word in text.split()):
        return int(Qt.TextFlag.TextWrapAnywhere)
    return _WRAP


@dataclass
class Sheet:
    """A painter with a theme and fonts. ``ratio`` is device pixels per logical pixel, for pictures of arrays.
    ``on_screen``: layers may come from a cache as pixels; in an export everything but arrays stays vectors.
    """

    painter: QPainter
    theme: Theme
    fonts: Fonts
    ratio: float = 1.0
    on_screen: bool = False
    placed: list[PlacedText] = field(default_factory=list)

    def text(
        self, rect: QRectF, text: str, colour: str = "", kind: str = "small", align: Qt.AlignmentFlag = LEFT
    ) -> QRectF:
        """One line; returns the room the glyphs take."""
        width, height = self.fonts.width(text, kind), self.fonts.height(kind)
        ink = _aligned(rect, width, height, align)
        self.placed.append(PlacedText(text, ink, rect))
        self._pen(colour, kind)
        # drawn at its own place, not into the rectangle: Qt would clip what is a fraction of a pixel too wide
        self.painter.drawText(QPointF(ink.left(), ink.top() + self.fonts.metrics(kind).ascent()), text)
        return ink

    def fitting(
        self,
        rect: QRectF,
        choices: Sequence[str],
        colour: str = "",
        kind: str = "small",
        align: Qt.AlignmentFlag = LEFT,
    ) -> str:
        """The first of the choices (longest first) that fits; '' where none does. Nothing is ever cut."""
        for choice in choices:
            if self.fonts.width(choice, kind) <= rect.width() + _SLACK:
                if choice:
                    self.text(rect, choice, colour, kind, align)
                return choice
        return ""

    def wrapped(self, rect: QRectF, text: str, colour: str = "", kind: str = "small", centred: bool = False) -> float:
        """Text over several lines from the top of ``rect``; returns the height used."""
        if not text:
            return 0.0
        flags = _wrap_flags(self.fonts, text, rect.width(), kind)
        flags |= int(Qt.AlignmentFlag.AlignHCenter if centred else Qt.AlignmentFlag.AlignLeft)
        ink = self.fonts.metrics(kind).boundingRect(QRectF(rect.topLeft(), rect.size()), flags, text)
        self.placed.append(PlacedText(text, ink, rect))
        self._pen(colour, kind)
        self.painter.drawText(ink.adjusted(0, 0, _SLACK, _SLACK), flags, text)
        return ink.height()

    def upwards(self, bottom_left: QPointF, text: str, room: float, colour: str = "", kind: str = "small") -> None:
        """A line that reads upwards from a point, for column labels; ``room`` is the height there is."""
        width, height = self.fonts.width(text, kind), self.fonts.height(kind)
        ink = QRectF(bottom_left.x(), bottom_left.y() - width, height, width)
        self.placed.append(PlacedText(text, ink, QRectF(bottom_left.x(), bottom_left.y() - room, height, room)))
        self._pen(colour, kind)
        self.painter.save()
        self.painter.translate(bottom_left)
        self.painter.rotate(-90)
        self.painter.drawText(QPointF(0, self.fonts.metrics(kind).ascent()), text)
        self.painter.restore()

    def fill(self, rect: QRectF, colour: str | QColor, alpha: float = 1.0) -> None:
        self.painter.fillRect(rect, shade(colour, alpha))

    def fills(self, rects: Sequence[QRectF], colour: str) -> None:
        """Many rectangles of one colour in one call."""
        self.painter.setPen(Qt.PenStyle.NoPen)
        self.painter.setBrush(QColor(colour))
        self.painter.drawRects(list(rects))

    def box(
        self,
        rect: QRectF,
        line: str = "",
        fill: str | QColor = "",
        width: float = 1.0,
        dashed: bool = False,
        radius: float = 0.0,
    ) -> None:
        """A rectangle with an outline inside it, so that neighbours do not run into each other."""
        painter = self.painter
        painter.setPen(pen(line, width, dashed) if line else Qt.PenStyle.NoPen)
        painter.setBrush(QBrush(QColor(fill)) if fill else Qt.BrushStyle.NoBrush)
        inset = width / 2 if line else 0.0
        inner = rect.adjusted(inset, inset, -inset, -inset)
        if radius:
            painter.setRenderHint(QPainter.RenderHint.Antialiasing)
            painter.drawRoundedRect(inner, radius, radius)
            painter.setRenderHint(QPainter.RenderHint.Antialiasing, False)
        else:
            painter.drawRect(inner)

    def line(self, start: QPointF, end: QPointF, colour: str, width: float = 1.0, dashed: bool = False) -> None:
        self.painter.setPen(pen(colour, width, dashed))
        self.painter.drawLine(start, end)

    def _pen(self, colour: str, kind: str) -> None:
        self.painter.setFont(self.fonts.get(kind))
        self.painter.setPen(QColor(colour or self.theme.text))


def pen(colour: str, width: float = 1.0, dashed: bool = False) -> QPen:
    result = QPen(QColor(colour), width)
    result.setJoinStyle(Qt.PenJoinStyle.MiterJoin)
    result.setCapStyle(Qt.PenCapStyle.FlatCap)
    if dashed:
        result.setDashPattern([4 / width, 3 / width])
    return result


def shade(colour: str | QColor, alpha: float) -> QColor:
    result = QColor(colour)
    result.setAlphaF(result.alphaF() * alpha)
    return result


@lru_cache(4096)
def mix(colour: str, other: str, share: float) -> str:
    """'#rrggbb' between two colours: ``share`` of the first. Opaque, so that prints match the screen."""
    first, second = QColor(colour), QColor(other)
    parts = [
        round(a * share + b * (1 - share))
        for a, b in zip(first.getRgb()[:3], second.getRgb()[:3], strict=True)  # type: ignore[index]
    ]
    return "#{:02x}{:02x}{:02x}".format(*parts)


def luminance(colour: str) -> float:
    """Relative luminance, 0..1 (WCAG 2)."""
    channels = [
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4
        for part in QColor(colour).getRgbF()[:3]  # type: ignore[index]
    ]
    return 0.2126 * channels[0] + 0.7152 * channels[1] + 0.0722 * channels[2]


def readable_on(colour: str) -> str:
    """Black or white, whichever has more contrast on ``colour``."""
    return "#000000" if (luminance(colour) + 0.05) ** 2 > 0.05 * 1.05 else "#ffffff"


def is_dark(ground: str) -> bool:
    return luminance(ground) < 0.2


def _aligned(rect: QRectF, width: float, height: float, align: Qt.AlignmentFlag) -> QRectF:
    left, top = rect.left(), rect.top()
    if align & Qt.AlignmentFlag.AlignRight:
        left = rect.right() - width
    elif align & Qt.AlignmentFlag.AlignHCenter:
        left = rect.center().x() - width / 2
    if align & Qt.AlignmentFlag.AlignVCenter:
        top = rect.center().y() - height / 2
    elif align & Qt.AlignmentFlag.AlignBottom:
        top = rect.bottom() - height
    return QRectF(left, top, width, height)
