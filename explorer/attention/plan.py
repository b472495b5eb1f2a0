"""What is known of a run before it runs: which tile each grid step works on, what it moves, and modelled times."""

from __future__ import annotations

import numpy as np

from explorer.attention.lens import ATTENTION_GRID, Lens
from explorer.engine.pipeline import Pipeline
from explorer.engine.program import Program
from explorer.link.messages import ChipInfo, Timeline
from kernels import masks
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

TIMELINE_MODEL = (
    "Model, not measured: bytes over the HBM bandwidth of {chip}, and 4·block_q·block_kv·head_dim FLOPs a computed "
    "tile over its bf16 peak rate; no step overhead, no softmax."
)


def step_order(program: Program, lens: Lens) -> np.ndarray:
    """int32 (steps, 4): batch, head, q block and kv block of each grid step; -1 for a kernel without a known grid."""
    if lens.grid_names != ATTENTION_GRID or len(program.grid) != len(ATTENTION_GRID):
        return np.full((program.steps, 4), -1, np.int32)
    return np.stack(np.unravel_index(np.arange(program.steps), program.grid), axis=1).astype(np.int32)


def computed_steps(order: np.ndarray, problem: AttentionProblem, blocks: BlockSizes, lens: Lens) -> np.ndarray:
    """bool (steps,): whether a step computes its tile. A kernel of which nothing is known computes at each step."""
    if lens.skips == "nothing" or (order < 0).any():
        return np.ones(len(order), bool)
    seen = problem
    if lens.skips == "causal":
        seen = problem.replace(
            q_segment_ids=None, kv_segment_ids=None, padding_id=None, kv_lengths=None, window=None, mask=None
        )
    return masks.tile_states(seen, blocks)[tuple(order.T)] > masks.SKIPPED


def row_blocks(program: Program) -> np.ndarray:
    """int32 (steps,): counts the runs of steps that share the blocks of every output."""
    output_names = [item.name for item in program.operands if item.direction == "out"]
    indices = np.concatenate([program.block_indices(name) for name in output_names], axis=1)
    moved = (indices[1:] != indices[:-1]).any(axis=1)
    return np.concatenate([[0], np.cumsum(moved)]).astype(np.int32)


def timeline(
    program: Program, pipeline: Pipeline, lens: Lens, problem: AttentionProblem, blocks: BlockSizes,
    computed: np.ndarray, chip: ChipInfo,
) -> Timeline:  # fmt: skip
    """Transfers of every grid step, exact, with the stated model's microseconds for them and for the tiles."""
    flops = 4 * blocks.block_q * blocks.block_kv * problem.head_dim
    inputs = [item.name for item in program.operands if item.direction == "in"]
    outputs = [item.name for item in program.operands if item.direction == "out"]
    per_us = chip.hbm_bytes_per_second / 1e6
    return Timeline(
        inputs=tuple(map(lens.display, inputs)),
        outputs=tuple(map(lens.display, outputs)),
        load_bytes=pipeline.load_bytes,
        store_bytes=pipeline.store_bytes,
        computed=computed,
        row_block=row_blocks(program),
        load_us=pipeline.load_bytes.sum(axis=1) / per_us,
        compute_us=np.where(computed, flops / (chip.bf16_flops_per_second / 1e6), 0.0),
        store_us=pipeline.store_bytes.sum(axis=1) / per_us,
        model=TIMELINE_MODEL.format(chip=chip.name),
    )
