"""VMEM and HBM figures of a configuration: counts where counting is possible, a stated model elsewhere."""

from __future__ import annotations

import numpy as np

from explorer.attention.lens import Lens, role
from explorer.engine import memory as engine_memory
from explorer.engine.pipeline import Pipeline, padded_bytes
from explorer.engine.program import Program
from explorer.link.messages import BufferInfo, ChipInfo, MemoryInfo
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

DTYPE_BYTES = {"float32": 4, "bfloat16": 2}


def io_bytes(problem: AttentionProblem) -> int:
    """Logical bytes of Q, K, V and O, each once."""
    size = DTYPE_BYTES[problem.dtype]
    rows_q = 2 * problem.heads * problem.q_len
    rows_kv = 2 * problem.kv_head_count * problem.kv_len
    return problem.batch * problem.head_dim * size * (rows_q + rows_kv)


def naive_matrix_bytes(problem: AttentionProblem) -> int:
    """Bytes of S and P in float32, which naive attention keeps in HBM."""
    return 2 * 4 * problem.batch * problem.heads * problem.q_len * problem.kv_len


def naive_moved_bytes(problem: AttentionProblem) -> int:
    """HBM traffic of naive attention, a model: Q, K, V read and O written once; S and P written and read once each."""
    return io_bytes(problem) + 2 * naive_matrix_bytes(problem)


def temporaries(blocks: BlockSizes) -> list[BufferInfo]:
    """S and P of one tile in float32: values of the kernel body that are too large for vector registers."""
    shape = (blocks.block_q, blocks.block_kv)
    return [
        BufferInfo(
            name=name, role="scores", kind="temporary", shape=shape, dtype="float32", slots=1,
            bytes=int(np.prod(shape)) * 4, bytes_padded=padded_bytes(shape, "float32"),
        )
        for name in ("S", "P")
    ]  # fmt: skip


def buffers(program: Program, lens: Lens, blocks: BlockSizes) -> tuple[BufferInfo, ...]:
    """Every buffer the model counts: two slots a block, scratch, and S and P where the lens knows the kernel."""
    captured = [
        BufferInfo(
            name=lens.display(item.name), role=role(lens.display(item.name)), kind=item.kind, shape=tuple(item.shape),
            dtype=str(item.dtype), slots=item.slots, bytes=item.bytes, bytes_padded=item.bytes_padded,
        )
        for item in engine_memory.vmem_buffers(program)
    ]  # fmt: skip
    return tuple(captured + (temporaries(blocks) if lens.values else []))


def memory_info(
    program: Program, pipeline: Pipeline, lens: Lens, problem: AttentionProblem, blocks: BlockSizes, chip: ChipInfo
) -> MemoryInfo:
    """All static memory figures of a driven kernel."""
    listed = buffers(program, lens, blocks)
    return MemoryInfo(
        vmem_peak=sum(item.bytes_padded for item in listed),
        vmem_limit=chip.scoped_limit_bytes,
        vmem_physical=chip.vmem_bytes,
        hbm_moved=int(pipeline.load_bytes.sum() + pipeline.store_bytes.sum()),
        hbm_moved_logical=int(pipeline.load_bytes_logical.sum() + pipeline.store_bytes_logical.sum()),
        hbm_moved_naive=naive_moved_bytes(problem),
        naive_matrix_bytes=naive_matrix_bytes(problem),
        buffers=listed,
    )


def memory_not_driven(problem: AttentionProblem, chip: ChipInfo) -> MemoryInfo:
    """For kernels that are no Pallas kernel: only the model of naive attention is known."""
    return MemoryInfo(
        vmem_peak=0, vmem_limit=chip.scoped_limit_bytes, vmem_physical=chip.vmem_bytes, hbm_moved=0,
        hbm_moved_logical=0, hbm_moved_naive=naive_moved_bytes(problem),
        naive_matrix_bytes=naive_matrix_bytes(problem), buffers=(),
    )  # fmt: skip
