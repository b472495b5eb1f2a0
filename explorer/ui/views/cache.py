"""Things kept while what they were made from stays the same object."""

from __future__ import annotations

from collections.abc import Callable
from typing import Generic, TypeVar

from PySide6.QtCore import QRectF
from PySide6.QtGui import QColor, QPainter, QPixmap

from explorer.ui.views.raster import pixel_size
from explorer.ui.views.sheet import Sheet

T = TypeVar("T")


class Same:
    """A key that equals only itself, and that keeps its object alive so that its identity is not given to another."""

    def __init__(self, thing: object) -> None:
        self.thing = thing

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Same) and self.thing is other.thing

    def __hash__(self) -> int:
        return id(self.thing)


class Kept(Generic[T]):
    """The last result of a computation, by its key."""

    def __init__(self) -> None:
        self._kept: tuple[object, T] | None = None

    def get(self, key: object, make: Callable[[], T]) -> T:
        if self._kept is None or self._kept[0] != key:
            self._kept = (key, make())
        return self._kept[1]

    def clear(self) -> None:
        self._kept = None


class Layer:
    """A picture kept while its key stays the same; painted anew, as vectors where it can be, in an export."""

    def __init__(self) -> None:
        self._kept: Kept[QPixmap] = Kept()

    def clear(self) -> None:
        self._kept.clear()

    def draw(self, sheet: Sheet, area: QRectF, key: object, paint: Callable[[Sheet], None]) -> None:
        """``paint(sheet)`` into ``area``, from the cache where ``key`` is that of the last time."""
        if not sheet.on_screen:
            paint(sheet)
            return
        full = (key, area.width(), area.height(), sheet.ratio, sheet.theme.name)
        sheet.painter.drawPixmap(area.topLeft(), self._kept.get(full, lambda: _rendered(sheet, area, paint)))


def _rendered(sheet: Sheet, area: QRectF, paint: Callable[[Sheet], None]) -> QPixmap:
    height, width = pixel_size(area, sheet.ratio)
    pixmap = QPixmap(width, height)
    pixmap.setDevicePixelRatio(sheet.ratio)
    pixmap.fill(QColor(sheet.theme.panel))
    painter = QPainter(pixmap)
    painter.translate(-area.topLeft())
    paint(Sheet(painter, sheet.theme, sheet.fonts, sheet.ratio))
    painter.end()
    return pixmap
