"""JSON without NaN and Infinity, for every parser."""

from __future__ import annotations

import json

import numpy as np
import pytest

from explorer.session.headless import strict_json


def refuse(token: str) -> None:
    raise AssertionError(f"{token} is no JSON")


def test_non_finite_numbers_are_texts_that_float_takes_back() -> None:
    values = [1.5, -np.inf, np.inf, np.nan]
    text = strict_json.dumps({"m": np.array(values, np.float32)})
    back = json.loads(text, parse_constant=refuse)["m"]
    assert back == [1.5, "-inf", "inf", "nan"]
    np.testing.assert_array_equal([float(value) for value in back], values)


@pytest.mark.parametrize(
    ("value", "back"),
    [
        (np.int32(3), 3),
        (np.float64(0.1), 0.1),
        (np.bool_(True), True),
        ((1, None), [1, None]),
        ({"a": (np.float32("inf"),)}, {"a": ["inf"]}),
        (np.zeros((2, 0)), [[], []]),
        ("Kucing “é”", "Kucing “é”"),
    ],
)
def test_plain_values(value: object, back: object) -> None:
    assert json.loads(strict_json.dumps(value)) == back
