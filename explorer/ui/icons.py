"""Line icons from ``assets/icons``, in the colours of a theme and sharp at any scale."""

from __future__ import annotations

import functools

from PySide6.QtCore import QByteArray, QRectF, QSize, Qt
from PySide6.QtGui import QIcon, QIconEngine, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from explorer.session.places import assets_directory


@functools.cache
def _source(name: str) -> str:
    return (assets_directory() / "icons" / f"{name}.svg").read_text(encoding="utf-8")


@functools.cache
def _renderer(name: str, colour: str) -> QSvgRenderer:
    return QSvgRenderer(QByteArray(_source(name).replace("currentColor", colour).encode()))


def paint(painter: QPainter, area: QRectF, name: str, colour: str) -> None:
    """Draw icon ``name`` into ``area`` in a colour '#rrggbb'. Raises FileNotFoundError for a name without a file."""
    _renderer(name, colour).render(painter, area)


class _LineIcon(QIconEngine):
    """Draws the SVG anew at whatever size and pixel ratio is asked for."""

    def __init__(self, name: str, colour: str, faded: str) -> None:
        super().__init__()
        self._icon = (name, colour, faded)

    def paint(self, painter: QPainter, rect, mode: QIcon.Mode, state: QIcon.State) -> None:  # type: ignore[no-untyped-def]
        del state
        name, colour, faded = self._icon
        paint(painter, QRectF(rect), name, faded if mode == QIcon.Mode.Disabled else colour)

    def pixmap(self, size: QSize, mode: QIcon.Mode, state: QIcon.State) -> QPixmap:
        pixmap = QPixmap(size)
        pixmap.fill(Qt.GlobalColor.transparent)
        painter = QPainter(pixmap)
        self.paint(painter, pixmap.rect(), mode, state)
        painter.end()
        return pixmap

    def clone(self) -> QIconEngine:
        return _LineIcon(*self._icon)


def icon(name: str, colour: str, faded: str) -> QIcon:
    """The icon in a colour, and in another where its button is disabled."""
    _source(name)  # a missing file is noticed here, not while painting
    return QIcon(_LineIcon(name, colour, faded))
