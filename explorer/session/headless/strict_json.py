"""JSON that every parser takes: numbers that JSON does not have are texts, 'nan', 'inf' and '-inf'.

Python's ``float`` and NumPy take these texts back.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def dumps(value: Any) -> str:
    """Indented JSON of dicts, sequences, NumPy arrays and numbers."""
    return json.dumps(strict(value), ensure_ascii=False, indent=2, allow_nan=False)


def strict(value: Any) -> Any:
    """The value with NumPy things as plain ones and non-finite numbers as texts."""
    if isinstance(value, np.ndarray):
        return strict(value.tolist())
    if isinstance(value, np.generic):
        return strict(value.item())
    if isinstance(value, float):
        return value if math.isfinite(value) else str(value)
    if isinstance(value, dict):
        return {str(key): strict(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [strict(item) for item in value]
    return value
