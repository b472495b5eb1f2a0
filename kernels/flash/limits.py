"""What a TPU refuses, known before compiling: block shapes that do not fit its registers, and scalar memory.

Sources: Pallas' TPU lowering takes a block whose last two dimensions are multiples of 8 and 128, or equal to the
array's; Mosaic wants multiples of 32 rows of an 8-bit array besides. Scalar memory (SMEM) is 1 MiB; measured with the
v5e compiler, a table of 1,020 KiB fits and one of 1,024 KiB does not. NumPy only.
"""

from __future__ import annotations

from kernels import masks
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

SUBLANES, LANES = 8, 128
MASK_SUBLANES = 32
"""Rows of an 8-bit array that share a register: four to a sublane."""
TABLE_LIMIT_BYTES = 1020 << 10
"""What of the 1 MiB of SMEM the compiler leaves for the tile table and the kv lengths."""


def tpu_refusal(problem: AttentionProblem, blocks: BlockSizes) -> str:
    """'' where a TPU would take these block sizes, else one line: which size, why, and what would do."""
    blocks = blocks.clamped(problem)
    return (
        _size_refusal("block_q", blocks.block_q, problem.q_len, _q_multiple(problem))
        or _size_refusal("block_kv", blocks.block_kv, problem.kv_len, _kv_multiple(problem))
        or _table_refusal(problem, blocks)
    )


def _q_multiple(problem: AttentionProblem) -> int:
    by_query = problem.mask is not None and problem.mask.shape[2] > 1
    return MASK_SUBLANES if by_query else SUBLANES


def _kv_multiple(problem: AttentionProblem) -> int:
    """Keys lie along sublanes in K and V, but along lanes in segment ids, mask and bias."""
    arrays = (problem.mask, problem.bias)
    along_lanes = problem.kv_segment_ids is not None or any(a is not None and a.shape[3] > 1 for a in arrays)
    return LANES if along_lanes else SUBLANES


def _size_refusal(name: str, size: int, length: int, multiple: int) -> str:
    if size == length or size % multiple == 0:
        return ""
    below, above = size - size % multiple, size + multiple - size % multiple
    options = [str(n) for n in (below, above) if 0 < n < length] + [f"{length} (the whole length)"]
    return f"{name} {size}: a TPU takes multiples of {multiple} or the whole length; use {' or '.join(options)}"


def _table_refusal(problem: AttentionProblem, blocks: BlockSizes) -> str:
    needed = table_bytes(problem, blocks)
    if needed <= TABLE_LIMIT_BYTES:
        return ""
    return (
        f"tile table: {needed / 1024:,.0f} KiB do not fit the {TABLE_LIMIT_BYTES // 1024:,} KiB of a TPU's scalar "
        f"memory; use tiles of {-(-needed // TABLE_LIMIT_BYTES)} times the area or more"
    )


def table_bytes(problem: AttentionProblem, blocks: BlockSizes) -> int:
    """Bytes of scalar memory that the tile table and the kv lengths take."""
    q_blocks, kv_blocks = blocks.clamped(problem).counts(problem)
    batches, heads = masks.distinct_heads(problem)
    lengths = 0 if problem.kv_lengths is None else problem.batch
    return 4 * (batches * heads * q_blocks * kv_blocks + lengths)
