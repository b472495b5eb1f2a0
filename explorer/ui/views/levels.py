"""Colour scales: fixed levels, one perceptually uniform map for magnitudes and one without red for signed values."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from typing import Literal

import numpy as np
import pyqtgraph

from explorer.units import number_text

SEQUENTIAL, DIVERGING = "viridis", "CET-D2"
"""CET-D2 runs green, near-white, violet: signed, safe for colour-blind eyes, and red stays free for 'wrong'."""


@cache
def colour_table(name: str) -> np.ndarray:
    """uint32 (256,) opaque 0xAARRGGBB entries of one of pyqtgraph's colour maps."""
    rgb = pyqtgraph.colormap.get(name).getLookupTable(nPts=256).astype(np.uint32)
    return np.uint32(0xFF000000) | rgb[:, 0] << np.uint32(16) | rgb[:, 1] << np.uint32(8) | rgb[:, 2]


@cache
def dark_diverging_table() -> np.ndarray:
    """``DIVERGING`` for dark grounds: the same hues on either side, but zero dark and the ends light.

    Chroma and hue in OKLab (Ottosson 2020) stay, lightness runs evenly from the middle outwards.
    """
    packed = colour_table(DIVERGING)
    srgb = np.stack([packed >> 16 & 255, packed >> 8 & 255, packed & 255], axis=1) / 255.0
    linear = np.where(srgb <= 0.04045, srgb / 12.92, ((srgb + 0.055) / 1.055) ** 2.4)
    lab = np.cbrt(linear @ _TO_LMS.T) @ _TO_LAB.T
    lab[:, 0] = 0.30 + 0.48 * np.abs(np.linspace(-1.0, 1.0, 256))
    linear = np.clip((lab @ np.linalg.inv(_TO_LAB).T) ** 3 @ np.linalg.inv(_TO_LMS).T, 0.0, 1.0)
    srgb = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    rgb = np.round(srgb * 255.0).astype(np.uint32)
    return np.uint32(0xFF000000) | rgb[:, 0] << np.uint32(16) | rgb[:, 1] << np.uint32(8) | rgb[:, 2]


_TO_LMS = np.array([
    [0.4122214708, 0.5363325363, 0.0514459929],
    [0.2119034982, 0.6806995451, 0.1073969566],
    [0.0883024619, 0.2817188376, 0.6299787005],
])  # fmt: skip
_TO_LAB = np.array([
    [0.2104542553, 0.7936177850, -0.0040720468],
    [1.9779984951, -2.4285922050, 0.4505937099],
    [0.0259040371, 0.7827717662, -0.8086757660],
])  # fmt: skip


@dataclass(frozen=True)
class Levels:
    """What the ends of a colour scale stand for. Values beyond an end take its colour."""

    low: float
    high: float
    scale: Literal["linear", "log", "diverging"] = "linear"

    def table(self, dark: bool = False) -> np.ndarray:
        """uint32 (256,) colours; ``dark``: for a dark ground, where a light zero would glare."""
        if self.scale != "diverging":
            return colour_table(SEQUENTIAL)
        return dark_diverging_table() if dark else colour_table(DIVERGING)

    def positions(self, values: np.ndarray) -> np.ndarray:
        """Place of finite values between the ends, float32 clipped to 0..1."""
        if self.scale == "log":
            with np.errstate(divide="ignore", invalid="ignore"):
                values = np.log10(values)
        low, high = self._ends()
        with np.errstate(invalid="ignore"):
            return np.clip((values - low) * (1.0 / ((high - low) or 1.0)), 0.0, 1.0)

    def _ends(self) -> tuple[float, float]:
        return (math.log10(self.low), math.log10(self.high)) if self.scale == "log" else (self.low, self.high)

    def colours(self, values: np.ndarray, dark: bool = False) -> np.ndarray:
        """uint32 0xAARRGGBB like ``values``; NaN and -inf take the low end here, callers mark them."""
        positions = self.positions(values)
        np.copyto(positions, 0.0, where=~np.isfinite(positions))
        return self.table(dark)[(positions * 255.0 + 0.5).astype(np.uint8)]

    def ticks(self) -> list[tuple[float, str]]:
        """(position 0..1, number) from low to high: the ends, zero of a signed scale, decades of a log scale."""
        if self.scale == "diverging":
            return [(0.0, number_text(self.low)), (0.5, "0"), (1.0, number_text(self.high))]
        if self.scale == "log":
            low, high = math.log10(self.low), math.log10(self.high)
            exponents = range(math.ceil(low - 1e-9), math.floor(high + 1e-9) + 1)
            return [((e - low) / ((high - low) or 1.0), f"1e{e}" if e else "1") for e in exponents]
        return [(part, number_text(self.low + part * (self.high - self.low))) for part in (0.0, 0.5, 1.0)]


def symmetric_levels(*arrays: np.ndarray) -> Levels:
    """Levels around zero that hold 99.5 % of the finite values, rounded up to two digits."""
    finite = np.concatenate([np.abs(a[np.isfinite(a)]).ravel() for a in arrays]) if arrays else np.zeros(0)
    bound = float(np.quantile(finite, 0.995)) if finite.size else 0.0
    if bound <= 0.0:
        return Levels(-1.0, 1.0, "diverging")
    step = 10.0 ** (math.floor(math.log10(bound)) - 1)
    bound = math.ceil(bound / step - 1e-9) * step
    return Levels(-bound, bound, "diverging")
