"""Numbers as text: units, significant digits, and no rounding into the next unit."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, strategies as st

from explorer import units


@pytest.mark.parametrize(
    ("count", "text"),
    [
        (0, "0 B"),
        (1, "1 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (12 * 1024, "12.0 KiB"),
        (73.7 * 1024, "73.7 KiB"),
        (1023 * 1024, "0.999 MiB"),
        (16 << 20, "16.0 MiB"),
        (25_585_254, "24.4 MiB"),
        (3 << 40, "3.00 TiB"),
        (-2048, "-2.00 KiB"),
    ],
)
def test_bytes(count: float, text: str) -> None:
    assert units.byte_text(count) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0, "0 s"),
        (3.2e-9, "3.20 ns"),
        (0.00061, "610 µs"),
        (0.0031, "3.10 ms"),
        (0.99949, "999 ms"),
        (0.9996, "1.00 s"),
        (9.996, "10.0 s"),
        (80, "80.0 s"),
        (99.96, "1 min 40 s"),
        (125, "2 min 5 s"),
        (-0.002, "-2.00 ms"),
    ],
)
def test_seconds(seconds: float, text: str) -> None:
    assert units.second_text(seconds) == text


def test_milliseconds_are_seconds() -> None:
    assert units.ms_text(0.61) == "610 µs"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (2.8414, "2.84"),
        (-0.0123456, "-0.0123"),
        (0.17677, "0.177"),
        (9.999, "10.0"),
        (1234.5, "1234"),
        (1.2e6, "1.20e+06"),
        (1e-7, "1.00e-07"),
        (float("nan"), "NaN"),
        (float("inf"), "∞"),
        (float("-inf"), "-∞"),
    ],
)
def test_numbers(value: float, text: str) -> None:
    assert units.number_text(value) == text


def test_errors_have_two_digits() -> None:
    assert units.error_text(3.64e-7) == "3.6e-07"
    assert units.error_text(0.0) == "0"
    assert units.error_text(float("nan")) == "NaN"


def test_counts_have_thin_separators() -> None:
    assert units.count_text(1048576) == f"1{units.THIN_SPACE}048{units.THIN_SPACE}576"
    assert units.count_text(999) == "999"


def test_rates_are_decimal() -> None:
    assert units.rate_text(819e9) == "819 GB/s"
    assert units.rate_text(1.638e12) == "1.64 TB/s"


def test_percent_and_plural() -> None:
    assert units.percent_text(0.00325) == "0.325 %"
    assert units.plural(1, "tile") == "1 tile"
    assert units.plural(2, "kv head") == "2 kv heads"
    assert units.plural(0, "entry", "entries") == "0 entries"


@given(st.integers(min_value=1024, max_value=1 << 68))
def test_bytes_are_right_to_three_digits(count: int) -> None:
    number, unit = units.byte_text(count).split()
    factor = 1024 ** ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"].index(unit)
    assert float(number) * factor == pytest.approx(count, rel=0.0051)
    assert unit == "EiB" or float(number) < 1000


@given(st.floats(min_value=1e-9, max_value=99.9))
def test_seconds_are_right_to_three_digits(seconds: float) -> None:
    number, unit = units.second_text(seconds).split()
    factor = {"ns": 1e-9, "µs": 1e-6, "ms": 1e-3, "s": 1.0}[unit]
    assert float(number) * factor == pytest.approx(seconds, rel=0.0051)
    assert len(re.sub(r"\D", "", number).lstrip("0")) <= 3
