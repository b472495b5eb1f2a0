"""How far a float32 kernel may lie from float64 before it counts as wrong, and why.

Scores are sums of head_dim products, each rounded to float32: their error grows with their size. exp turns an
absolute error of its argument into a relative one of P and l, and P rounded to bfloat16 before the second matrix
product adds that rounding (half a unit in the last place of 8 bits) to acc. Factors hold over the test suite's random
problems with room to spare; they are bounds for an alarm, not estimates.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

_EPS32 = float(np.finfo(np.float32).eps)
_EPS_BF16 = 2.0**-8


@dataclass(frozen=True)
class Tolerances:
    """``score``: absolute, on S, m and LSE. ``weight``: relative, on P, l. ``output``: absolute, on acc / l and O."""

    score: float
    weight: float
    output: float


def tolerances(dtype: str, largest_score: float, largest_value: float) -> Tolerances:
    """Bounds for one problem. ``largest_score`` is max |S| over finite scores, ``largest_value`` is max |V|."""
    score = 4 * _EPS32 * (1.0 + largest_score)
    weight = 2 * score + 16 * _EPS32
    rounding = 2 * _EPS_BF16 if dtype == "bfloat16" else 0.0
    return Tolerances(score, weight, (2 * weight + rounding) * max(largest_value, 1e-30))
