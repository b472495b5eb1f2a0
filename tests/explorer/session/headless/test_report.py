"""How a problem and a kernel are put into words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from explorer.link.messages import Configured
from explorer.session.config import Configuration
from explorer.session.headless import report
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


def problem(**changes: Any) -> AttentionProblem:
    return AttentionProblem(**{"q_len": 8, "kv_len": 8, "head_dim": 4, **changes})


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({}, "no mask"),
        ({"causal": True}, "causal, top-left"),
        ({"causal": True, "alignment": "bottom-right"}, "causal, bottom-right"),
        ({"window": (3, None)}, "window of 3 to the left and all to the right"),
        ({"causal": True, "window": (3, 0)}, "causal, top-left and window of 3 to the left and 0 to the right"),
        ({"kv_lengths": np.array([4])}, "key lengths"),
        ({"mask": np.ones((1, 1, 8, 8), bool)}, "mask array"),
        ({"bias": np.ones((1, 1, 8, 8), np.float32)}, "bias"),
    ],
)
def test_masks_in_words(changes: dict[str, Any], text: str) -> None:
    assert report.mask_text(problem(**changes)) == text


def test_problems_in_words() -> None:
    said = report.problem_text(problem(heads=4, kv_heads=2, softcap=30.0, batch=3), Configuration(input="normal"))
    assert said == (
        "normal: batch 3, 4 heads on 2 kv heads, 8 queries by 8 keys, head dim 4, float32, no mask, scale 0.500, "
        "softcap 30.0"
    )


def test_kernels_in_words(make_configured: Callable[..., Configured]) -> None:
    configured = make_configured(problem(causal=True), BlockSizes(4, 4))
    assert report.kernel_text(configured) == "flash, tiles of 4 × 4, 1 of 4 emptied by the mask"
    assert report.kernel_text(make_configured(problem(), BlockSizes(4, 8))) == "flash, tiles of 4 × 8"
    assert report.kernel_text(msgspec.structs.replace(configured, driven=False)) == "flash"
