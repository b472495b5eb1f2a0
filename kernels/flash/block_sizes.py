"""Tile sizes of the flash kernel."""

from __future__ import annotations

from dataclasses import dataclass

from kernels import checks
from kernels.problem import AttentionProblem


@dataclass(frozen=True)
class BlockSizes:
    """Rows of Q and rows of K/V in one tile, in elements. Larger than the sequence means the whole sequence.

    Raises ``ProblemError`` for sizes that are not positive whole numbers.
    """

    block_q: int = 128
    block_kv: int = 128

    def __post_init__(self) -> None:
        for name in ("block_q", "block_kv"):
            object.__setattr__(self, name, checks.integer(name, getattr(self, name), at_least=1))

    def clamped(self, problem: AttentionProblem) -> BlockSizes:
        """The sizes in force: no block is longer than the problem's sequence."""
        return BlockSizes(min(self.block_q, problem.q_len), min(self.block_kv, problem.kv_len))

    def counts(self, problem: AttentionProblem) -> tuple[int, int]:
        """(q blocks, kv blocks) that cover the problem; the last of each may be ragged."""
        return -(-problem.q_len // self.block_q), -(-problem.kv_len // self.block_kv)
