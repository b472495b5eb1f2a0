"""Equality of arrays to the last bit."""

from __future__ import annotations

import numpy as np


def same_bits(left: np.ndarray, right: np.ndarray) -> bool:
    """Whether two arrays are equal bit for bit, signed zeros included.

    A NaN equals every NaN: which sign and payload an operation on two NaNs gives is left open by IEEE 754, and depends
    on the order in which the compiler puts its operands.
    """
    if left.shape != right.shape or left.dtype != right.dtype:
        return False
    left, right = np.ascontiguousarray(left), np.ascontiguousarray(right)
    if left.tobytes() == right.tobytes():
        return True
    if np.issubdtype(left.dtype, np.integer) or left.dtype == np.bool_:
        return False
    bits = np.dtype(f"u{left.dtype.itemsize}")
    return bool(np.all((left.view(bits) == right.view(bits)) | (np.isnan(left) & np.isnan(right))))
