"""A workbench with a small problem on it, and the inputs it was given."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache

import numpy as np
import pytest

from explorer.attention.workbench import Workbench
from explorer.link.messages import Configure, Configured, GoTo, Snapshot
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


def quiet(text: str, done: int, total: int) -> None:
    """A progress that nobody watches."""


@dataclass(frozen=True)
class Bench:
    """A configured workbench and what it was configured with."""

    workbench: Workbench
    configured: Configured
    problem: AttentionProblem
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray

    def goto(self, step: int) -> Snapshot:
        return self.workbench.goto(GoTo(id=2, step=step), quiet)


@cache
def put(kernel: str, block_q: int, block_kv: int, q_len: int, kv_len: int, heads: int, kv_heads: int, **rest) -> Bench:
    """Configure a workbench; kept, since compiling is what costs. ``rest``: hashable fields of the problem."""
    problem = AttentionProblem(q_len=q_len, kv_len=kv_len, heads=heads, kv_heads=kv_heads, **{"head_dim": 16, **rest})
    rng = np.random.default_rng(1)
    q, k, v = (
        rng.standard_normal((problem.batch, h, n, problem.head_dim)).astype(np.float32)
        for h, n in ((heads, q_len), (kv_heads, kv_len), (kv_heads, kv_len))
    )
    workbench = Workbench()
    request = Configure(
        id=1, problem=problem, blocks=BlockSizes(block_q, block_kv), kernel=kernel, chip="v5e", q=q, k=k, v=v
    )
    return Bench(workbench, workbench.configure(request, quiet), problem, q, k, v)


@pytest.fixture(scope="session")
def bench() -> Callable[..., Bench]:
    """Make (or reuse) a bench: ``bench("flash", 8, 8, q_len, kv_len, heads, kv_heads, causal=True)``."""
    return put


@pytest.fixture
def causal(bench: Callable[..., Bench]) -> Bench:
    """Two query heads on one kv head, 40 rows and keys in tiles of 16 by 8 (a ragged last row block), causal."""
    return bench("flash", 16, 8, 40, 40, 2, 1, causal=True)
