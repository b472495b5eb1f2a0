"""Small input files."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest


@pytest.fixture
def arrays() -> dict[str, Any]:
    """q, k, v of shape (heads 2, length 6, dim 4)."""
    rng = np.random.default_rng(3)
    return {name: rng.standard_normal((2, 6, 4)).astype(np.float32) for name in "qkv"}


@pytest.fixture
def npz(tmp_path: Path) -> Callable[..., str]:
    """npz(q=..., ...) writes a file and returns its path."""

    def write(**contents: Any) -> str:
        path = tmp_path / "input.npz"
        np.savez(path, **contents)
        return str(path)

    return write
