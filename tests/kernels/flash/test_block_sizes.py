"""Block sizes are whole, positive, and never longer than the sequence."""

import pytest

from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem, ProblemError


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ((0, 8), "block_q is 0"),
        ((8, -1), "block_kv is -1"),
        ((8, 1.5), "block_kv is 1.5"),
        ((None, 8), "block_q is None"),
    ],
)
def test_sizes_that_are_no_sizes_are_refused(sizes, message):
    with pytest.raises(ProblemError, match=message):
        BlockSizes(*sizes)


def test_clamped_and_counts():
    problem = AttentionProblem(q_len=100, kv_len=20, head_dim=8)
    blocks = BlockSizes(32, 64).clamped(problem)
    assert blocks == BlockSizes(32, 20)
    assert blocks.counts(problem) == (4, 1)
