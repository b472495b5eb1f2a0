"""The running softmax of a row block as bars: one a row, or one for several rows where there are too many. No Qt."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from explorer.ui.views.shown import ShownSoftmax


@dataclass(frozen=True)
class Bars:
    """Each (bars,). A bar of ``rows_each`` > 1 rows shows the largest m and l and the smallest alpha of its rows."""

    m_before: np.ndarray
    m: np.ndarray
    alpha: np.ndarray
    kept: np.ndarray
    added: np.ndarray
    unseen: np.ndarray
    """bool: every row of the bar has seen no key yet (m is -inf)."""
    wrong: np.ndarray
    """bool: some row of the bar has a NaN or an infinite value where there is a number to be."""
    rows_each: int


def bars(softmax: ShownSoftmax, most: int) -> Bars:
    """At most ``most`` bars."""
    rows = len(softmax.m)
    each = max(math.ceil(rows / max(most, 1)), 1)
    wrong = (
        np.isnan(softmax.m)
        | np.isposinf(softmax.m)
        | ~np.isfinite(softmax.kept + softmax.added)
        | ~np.isfinite(softmax.alpha)
    )
    unseen = np.isneginf(softmax.m)
    if each == 1:
        return Bars(softmax.m_before, softmax.m, softmax.alpha, softmax.kept, softmax.added, unseen, wrong, 1)
    starts = np.arange(0, rows, each)
    total = np.where(np.isfinite(softmax.kept + softmax.added), softmax.kept + softmax.added, -np.inf)
    largest = np.array([start + int(np.argmax(total[start : start + each])) for start in starts])
    return Bars(
        np.fmax.reduceat(softmax.m_before, starts),
        np.fmax.reduceat(softmax.m, starts),
        np.fmin.reduceat(softmax.alpha, starts),
        softmax.kept[largest],
        softmax.added[largest],
        np.logical_and.reduceat(unseen, starts),
        np.logical_or.reduceat(wrong, starts),
        each,
    )


def nice_range(*arrays: np.ndarray, from_zero: bool = False) -> tuple[float, float]:
    """Ends of an axis around the finite values, at multiples of 1, 2 or 5 times a power of ten."""
    finite = np.concatenate([a[np.isfinite(a)] for a in arrays])
    if not finite.size:
        return 0.0, 1.0
    low, high = (0.0 if from_zero else float(finite.min())), float(finite.max())
    if high <= low:
        low, high = (low, low + 1.0) if from_zero else (low - 0.5, high + 0.5)
    step = nice_step((high - low) / 2)
    return math.floor(low / step + 1e-9) * step, math.ceil(high / step - 1e-9) * step


def nice_step(size: float) -> float:
    """The largest of 1, 2, 5 times a power of ten that is not above ``size``."""
    power = 10.0 ** math.floor(math.log10(size))
    return next(factor * power for factor in (5.0, 2.0, 1.0) if factor * power <= size * (1 + 1e-9))
