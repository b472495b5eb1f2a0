"""Text of a settings field to its value. Each raises ValueError with the rest of a sentence that names the field."""

from __future__ import annotations

import math

from explorer.session.config import ConfigurationError, parse_window


def whole(text: str) -> int | None:
    """A whole number from 1; nothing is 'as the input has it'."""
    if not text:
        return None
    if not (text.isascii() and text.isdigit()) or int(text) < 1:
        raise ValueError(f"'{text}' is not a whole number from 1; the last good setting stays")
    return int(text)


def seed(text: str) -> int:
    """A whole number from 0, which nothing stands for too."""
    if not text:
        return 0
    if not (text.isascii() and text.isdigit()):
        raise ValueError(f"'{text}' is not a whole number from 0; the last good setting stays")
    return int(text)


def number(text: str) -> float | None:
    """A finite number; nothing is the default."""
    if not text:
        return None
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise ValueError(f"'{text}' is not a finite number; the last good setting stays")
    return value


def window(text: str) -> tuple[int | None, int | None] | None:
    """'128,0' keys to the left and right; nothing is no window."""
    if not text:
        return None
    try:
        return parse_window(text)
    except ConfigurationError as error:
        raise ValueError(f"'{text}' is not LEFT,RIGHT in keys, like 128,0; the last good setting stays") from error
