"""Line icons from ``assets/icons``, in the colours of a theme and sharp at any scale."""

from __future__ import annotations

import functools

from PySide6.QtCore import QByteArray, QRectF, Qt
from PySide6.QtGui import QColor, QIcon, QPainter, QPixmap
from PySide6.QtSvg import QSvgRenderer

from explorer.session.places import assets_directory
from explorer.ui.theme import Theme

RATIOS = (1, 2, 3)
"""Device pixel ratios that an icon has a picture of its own for; Qt scales down from the next one up."""
_APP_SIZES = (16, 24, 32, 48, 64, 128, 256)


@functools.cache
def _renderer(name: str, colour: str) -> QSvgRenderer:
    source = (assets_directory() / "icons" / f"{name}.svg").read_text(encoding="utf-8")
    return QSvgRenderer(QByteArray(source.replace("currentColor", colour).encode()))


def paint(painter: QPainter, area: QRectF, name: str, colour: str) -> None:
    """Draw icon ``name`` into ``area`` in a colour '#rrggbb'. Raises FileNotFoundError for a name without a file."""
    _renderer(name, colour).render(painter, area)


@functools.cache
def icon(name: str, theme: Theme, size: int = 20, colour: str = "") -> QIcon:
    """The icon at ``size`` logical pixels in the theme's text colour unless given; paler where its button is disabled.

    'app' is the window's own, in its own colours and in every size a desktop asks for. Raises FileNotFoundError for a
    name without a file.
    """
    result = QIcon()
    for wanted in _APP_SIZES if name == "app" else (size,):
        for ratio in RATIOS:
            result.addPixmap(pixmap(name, colour or theme.text, wanted, ratio), QIcon.Mode.Normal)
            result.addPixmap(pixmap(name, disabled_colour(theme), wanted, ratio), QIcon.Mode.Disabled)
    return result


def pixmap(name: str, colour: str, size: int, ratio: float = 1.0) -> QPixmap:
    """A square picture of ``size`` logical pixels for a device pixel ratio."""
    result = QPixmap(round(size * ratio), round(size * ratio))
    result.fill(Qt.GlobalColor.transparent)
    painter = QPainter(result)
    paint(painter, QRectF(result.rect()), name, colour)
    painter.end()
    result.setDevicePixelRatio(ratio)
    return result


def disabled_colour(theme: Theme) -> str:
    """Between what is written in the muted colour and what it stands on."""
    ink, ground = QColor(theme.muted), QColor(theme.panel)
    channels = zip((ink.red(), ink.green(), ink.blue()), (ground.red(), ground.green(), ground.blue()), strict=True)
    return "#{:02x}{:02x}{:02x}".format(*((2 * a + 3 * b) // 5 for a, b in channels))
