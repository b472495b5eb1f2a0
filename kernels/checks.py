"""Checks of a problem's fields: each returns the normalised value or raises ``ProblemError`` with what would do."""

from __future__ import annotations

import math
import operator
from collections.abc import Sequence

import numpy as np


class ProblemError(ValueError):
    """The problem cannot be computed as asked; the message says what is wrong and what would do."""


def integer(name: str, value: object, at_least: int) -> int:
    """``value`` as an int no smaller than ``at_least``."""
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        number = None
    if number is None or isinstance(value, bool | np.bool_):
        raise ProblemError(f"{name} is {value!r}; give a whole number, {at_least} or more")
    if number < at_least:
        raise ProblemError(f"{name} is {number}; it must be {at_least} or more")
    return number


def real(name: str, value: object, remedy: str) -> float:
    """``value`` as a finite float; ``remedy`` says what would do."""
    try:
        number = float(value)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        number = math.nan
    if not math.isfinite(number):
        raise ProblemError(f"{name} is {value!r}; {remedy}")
    return number


def choice(name: str, value: object, choices: Sequence[str]) -> None:
    """Raises unless ``value`` is one of ``choices``."""
    if value not in choices:
        raise ProblemError(f"{name} is {value!r}; choose one of {', '.join(choices)}")


def flag(name: str, value: object) -> bool:
    """``value`` as a bool; only True and False are taken."""
    if not isinstance(value, bool | np.bool_):
        raise ProblemError(f"{name} is {value!r}; give True or False")
    return bool(value)


def window(value: object) -> tuple[int | None, int | None] | None:
    """(left, right), each None or 0 and more; (None, None) bounds nothing and becomes None."""
    if value is None:
        return None
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise ProblemError(f"window is {value!r}; give (left, right) in keys, None where it has no bound")
    left, right = (
        side if side is None else integer(f"window {name}", side, at_least=0)
        for name, side in zip(("left", "right"), value, strict=True)
    )
    return None if left is None and right is None else (left, right)


def integers(name: str, value: object, shape: tuple[int, ...]) -> np.ndarray:
    """``value`` as a read-only int32 array of exactly ``shape``."""
    array = np.asarray(value)
    if array.dtype.kind not in "iu":
        raise ProblemError(f"{name} has dtype {array.dtype}; give integers")
    if array.shape != shape:
        raise ProblemError(f"{name} has shape {array.shape}; this problem needs {shape}")
    limits = np.iinfo(np.int32)
    if array.size and (array.min() < limits.min or array.max() > limits.max):
        raise ProblemError(f"{name} has values outside int32; renumber them from 0")
    return _frozen(array, np.dtype(np.int32))


def pairwise(name: str, value: object, full: tuple[int, int, int, int], dtype: type) -> np.ndarray:
    """``value`` as a read-only 4-D array of ``dtype`` (bool or float32) that broadcasts to ``full``."""
    array = np.asarray(value)
    kind, wanted = ("b", "True where a pair is allowed") if dtype is bool else ("f", "floating-point numbers")
    if array.dtype.kind != kind and not (kind == "f" and array.dtype.name == "bfloat16"):
        raise ProblemError(f"{name} has dtype {array.dtype}; give {wanted}")
    if array.ndim != 4 or any(have not in (1, want) for have, want in zip(array.shape, full, strict=True)):
        raise ProblemError(
            f"{name} has shape {array.shape}; give four dimensions that broadcast to "
            f"(batch, heads, q_len, kv_len) = {full}, each of full length or 1"
        )
    return _frozen(array, np.dtype(dtype))


def bias(value: object, full: tuple[int, int, int, int]) -> np.ndarray:
    """A float32 bias without NaN or +inf; -inf hides a pair."""
    array = pairwise("bias", value, full, np.float32)
    if np.isnan(array).any() or np.isposinf(array).any():
        raise ProblemError("bias holds NaN or +inf; use finite numbers, and -inf where a pair is hidden")
    return array


def _frozen(array: np.ndarray, dtype: np.dtype) -> np.ndarray:
    """Contiguous, of ``dtype``, read-only, and never a caller's writable memory."""
    if array.dtype == dtype and array.flags.c_contiguous and not array.flags.writeable:
        return array
    with np.errstate(over="ignore"):  # a float64 bias of -1e300 is -inf in float32, which means the same
        copy = np.array(array, dtype=dtype, order="C")
    copy.flags.writeable = False
    return copy
