"""Numbers as people read them: units, three significant digits, thin separators. Used everywhere on screen and in text.

Rounding happens before the unit is chosen, so nothing reads '1000 ms' or '1024 KiB'.
"""

from __future__ import annotations

import math

THIN_SPACE = "\N{NARROW NO-BREAK SPACE}"
_BYTE_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_TIME_UNITS = ((1e-9, "ns"), (1e-6, "µs"), (1e-3, "ms"), (1.0, "s"))


def byte_text(count: float) -> str:
    """'0 B', '1023 B', '12.0 KiB', '16.0 MiB'; whole bytes below one KiB, then three significant digits."""
    if not math.isfinite(count):
        return number_text(count)
    sign, size = ("-", -count) if count < 0 else ("", float(count))
    if size < 1024:
        return f"{sign}{size:.0f} B"
    unit = 0
    while size >= 999.5 and unit < len(_BYTE_UNITS) - 1:
        size /= 1024
        unit += 1
    return f"{sign}{_three_digits(size)} {_BYTE_UNITS[unit]}"


def rate_text(bytes_per_second: float) -> str:
    """'819 GB/s': decimal units, as chip makers state bandwidth."""
    if not math.isfinite(bytes_per_second):
        return number_text(bytes_per_second)
    size, units = float(bytes_per_second), ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]
    while abs(size) >= 999.5 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{_three_digits(size)} {units[0]}"


def second_text(seconds: float) -> str:
    """'0 s', '610 µs', '3.10 ms', '2.50 s', '1 min 20 s'. Times below 1 ns are given in ns."""
    if not math.isfinite(seconds):
        return number_text(seconds)
    if seconds == 0:
        return "0 s"
    if abs(seconds) >= 99.95:
        minutes, rest = divmod(round(abs(seconds)), 60)
        return f"{'-' if seconds < 0 else ''}{count_text(minutes)} min {rest} s"
    for factor, unit in _TIME_UNITS:
        value = seconds / factor
        if abs(value) < 999.5 or unit == "s":
            return f"{_three_digits(value)} {unit}"
    raise AssertionError("the last unit takes every time")


def ms_text(milliseconds: float) -> str:
    """``second_text`` for a time in milliseconds."""
    return second_text(milliseconds / 1e3)


def number_text(value: float) -> str:
    """'2.84', '-0.0123', '1.20e+06', '0', '∞', '-∞', 'NaN': three significant digits."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "∞" if value > 0 else "-∞"
    if value == 0:
        return "0"
    if 1e-3 <= abs(value) < 99_950:
        return _three_digits(value)
    return f"{value:.2e}"


def error_text(value: float) -> str:
    """'3.6e-07', '0', 'NaN': two significant digits, as an error deserves no more."""
    if value == 0:
        return "0"
    return f"{value:.1e}" if math.isfinite(value) else number_text(value)


def count_text(count: int) -> str:
    """'1 048 576' with narrow no-break spaces."""
    return f"{count:,}".replace(",", THIN_SPACE)


def percent_text(fraction: float) -> str:
    """'0.325 %', '100 %'."""
    return f"{number_text(fraction * 100)} %"


def plural(count: int, one: str, many: str | None = None) -> str:
    """'1 tile', '21 tiles'."""
    return f"{count_text(count)} {one if count == 1 else many or one + 's'}"


def _three_digits(value: float) -> str:
    """Three significant digits, never in exponent form; more digits before the point stay as they are."""
    if value == 0:
        return "0"
    magnitude = math.floor(math.log10(abs(value)))
    decimals = 2 - magnitude
    # 9.996 rounds to 10.0, which needs one decimal fewer than 9.99 does
    if round(abs(value), decimals) >= 10.0 ** (magnitude + 1):
        decimals -= 1
    if decimals < 0:
        return f"{value:.0f}"
    return f"{value:.{decimals}f}"
