"""The shared cases with known right values, as problems a kernel can be fed. NumPy only.

``assets/cases/cases.json`` gives scores, not q and k. One-hot queries select them: q is the identity, k is the scores
transposed and the scale is 1, so that ``q k^T`` is the scores to the last bit. V repeats its one number per key over
all columns.
"""

from __future__ import annotations

import importlib.resources
import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

_MIN_HEAD_DIM = 8

_RULES: dict[str, dict[str, Any]] = {
    "causal-top-left-2x5": {"causal": True},
    "causal-bottom-right-2x5": {"causal": True, "alignment": "bottom-right"},
    "decode-1x8-bottom-right": {"causal": True, "alignment": "bottom-right"},
    "decode-1x8-top-left": {"causal": True},
    "window-3-0": {"window": (3, 0)},
    "window-1-0": {"window": (1, 0)},
    "peaked-mask-invisible": {"causal": True},
}
"""Cases that are about a rule; the others hand their allowed pairs over as an array."""


@dataclass(frozen=True, eq=False)
class Case:
    """One case. q: float32 (1, 1, rows, head_dim); k, v: float32 (1, 1, keys, head_dim).

    output, lse: float64 (rows,), the right values, good to about 1e-6; every column of o should hold ``output``.
    allowed: bool (rows, keys), or None where all pairs are. wrong: what a known mistake gives, by the mistake's name.
    """

    name: str
    why: str
    problem: AttentionProblem
    blocks: BlockSizes
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    output: np.ndarray
    lse: np.ndarray
    allowed: np.ndarray | None
    wrong: dict[str, float] = field(default_factory=dict)


def load() -> tuple[Case, ...]:
    """All cases, in the order of the file."""
    text = importlib.resources.files("assets").joinpath("cases", "cases.json").read_text(encoding="utf-8")
    return tuple(_case(entry) for entry in json.loads(text))


def _case(entry: dict[str, Any]) -> Case:
    scores = np.asarray(entry["scores"], np.float32)
    rows, keys = scores.shape
    head_dim = max(rows, _MIN_HEAD_DIM)
    q = np.zeros((1, 1, rows, head_dim), np.float32)
    k = np.zeros((1, 1, keys, head_dim), np.float32)
    q[0, 0, np.arange(rows), np.arange(rows)] = 1.0
    k[0, 0, :, :rows] = scores.T
    values = np.asarray(entry["values"], np.float32)
    allowed = None if entry["allowed"] is None else np.asarray(entry["allowed"], bool)
    rule = _RULES.get(entry["name"], {} if allowed is None else {"mask": allowed[None, None]})
    return Case(
        name=entry["name"],
        why=entry["why"],
        problem=AttentionProblem(q_len=rows, kv_len=keys, head_dim=head_dim, scale=1.0, **rule),
        blocks=BlockSizes(block_q=rows, block_kv=entry["block_kv"]),
        q=q,
        k=k,
        v=np.broadcast_to(values[:, None], (1, 1, keys, head_dim)).copy(),
        output=np.asarray(entry["output"], np.float64),
        lse=np.asarray([float(x) for x in entry["lse"]], np.float64),
        allowed=allowed,
        wrong=dict(entry.get("wrong", {})),
    )
