"""Widgets to PNG: drawn at a logical size and a scale, with what they show written into the file."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QPoint, QSize
from PySide6.QtGui import QImage, QPainter
from PySide6.QtWidgets import QWidget

from explorer.session.atomic import write_atomically
from explorer.session.errors import UserError


class PictureError(UserError):
    """A picture could not be made or saved; one line that says why."""


def picture(widget: QWidget, scale: float = 1.0) -> QImage:
    """The widget as an image of its logical size times ``scale`` pixels."""
    size = (widget.width(), widget.height())
    return painted(lambda painter, _size, _scale: widget.render(painter, QPoint(0, 0)), size, scale)


def painted(draw: Callable[[QPainter, QSize, float], object], size: tuple[int, int], scale: float = 1.0) -> QImage:
    """What ``draw(painter, size, scale)`` paints, as an image of a logical size times ``scale`` pixels."""
    width, height = size
    image = QImage(round(width * scale), round(height * scale), QImage.Format.Format_ARGB32_Premultiplied)
    image.setDevicePixelRatio(scale)
    image.fill(0)
    painter = QPainter(image)
    try:
        draw(painter, QSize(width, height), scale)
    finally:
        painter.end()
    return image


def png_bytes(image: QImage, texts: Mapping[str, str] | None = None) -> bytes:
    """PNG file content with text chunks. Raises PictureError."""
    for key, text in (texts or {}).items():
        image.setText(key, text)
    data = QByteArray()
    buffer = QBuffer(data)
    buffer.open(QIODevice.OpenModeFlag.WriteOnly)
    written = image.save(buffer, "PNG")  # type: ignore[call-overload]  # the stubs of some releases ask for bytes
    if not written:
        raise PictureError("the picture could not be encoded as PNG")
    return bytes(data.data())


def save_png(image: QImage, path: str | Path, texts: Mapping[str, str] | None = None) -> None:
    """Write a PNG in one move: an older file of that name stays until the new one is whole. Raises PictureError."""
    content = png_bytes(image, texts)
    try:
        write_atomically(path, content)
    except OSError as error:
        raise PictureError(f"{path}: not saved: {error.strerror or error}") from error
