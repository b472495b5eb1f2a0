"""Bits, not values: signed zeros differ, NaNs are alike."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from explorer.engine.bits import same_bits


@pytest.mark.parametrize("dtype", [np.float32, np.float64, jnp.bfloat16])
def test_floats(dtype):
    value = np.array([1.0, -0.0, np.nan, np.inf], dtype)
    assert same_bits(value, np.array([1.0, -0.0, -np.nan, np.inf], dtype))
    assert not same_bits(value, np.array([1.0, 0.0, np.nan, np.inf], dtype))
    assert not same_bits(value, np.array([1.0, -0.0, 0.0, np.inf], dtype))
    assert not same_bits(value, np.array([1.0078125, -0.0, np.nan, np.inf], dtype))


def test_shape_and_dtype_count():
    assert not same_bits(np.zeros(2, np.float32), np.zeros((2, 1), np.float32))
    assert not same_bits(np.zeros(2, np.float32), np.zeros(2, np.int32))
    assert same_bits(np.arange(3), np.arange(3))
    assert not same_bits(np.arange(3), np.array([0, 1, 3]))
