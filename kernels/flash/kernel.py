"""The flash attention kernel for TPU, forward: one grid step is one tile of the attention matrix.

The grid is (batch, head, q block, kv block); kv blocks run innermost, and the steps of one q block (a row block) share
m, l and acc in scratch. Each of the five stages is one function, under a ``jax.named_scope`` of its name; inside, the
values of the algorithm have a scope each, whose last equation is the value.

The algorithm is online softmax as in FlashAttention-2 (Dao, 2023, algorithm 1), with acc kept unnormalised until
the row block ends.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.experimental import pallas as pl

from kernels import masks
from kernels.flash import tiles
from kernels.flash.block_sizes import BlockSizes
from kernels.flash.tiles import TileTable
from kernels.problem import AttentionProblem

LANES = 128
"""A vector register is 8 x 128: one number per row is kept replicated over its 128 lanes, where arithmetic is free."""


@dataclass(frozen=True, eq=False)
class KernelPlan:
    """What is fixed when the kernel is traced. ``blocks`` are clamped to the problem."""

    problem: AttentionProblem
    blocks: BlockSizes
    table: TileTable

    @property
    def ragged(self) -> bool:
        """Whether the last K/V block runs past the end of K and V."""
        return self.problem.kv_len % self.blocks.block_kv != 0

    @property
    def precision(self) -> lax.Precision:
        """float32 means float32: a TPU's default would round the factors of a matrix product to bfloat16."""
        return lax.Precision.HIGHEST if self.problem.dtype == "float32" else lax.Precision.DEFAULT


class Tile(NamedTuple):
    """The tile of one grid step, as scalars: first query, first key, end of the visible keys, what is to be done."""

    first_row: Any
    first_col: Any
    end_of_keys: Any
    computed: Any
    starts_row_block: Any
    ends_row_block: Any


class MaskRefs(NamedTuple):
    """Blocks of the arrays that hide or shift pairs; None where the problem has none."""

    q_ids: Any
    kv_ids: Any
    mask: Any
    bias: Any


def flash_kernel(
    table_ref, lengths_ref, q_ref, k_ref, v_ref, q_ids_ref, kv_ids_ref, mask_ref, bias_ref,
    o_ref, lse_ref, m_scratch, l_scratch, acc_scratch, *, plan: KernelPlan,
) -> None:  # fmt: skip
    """One grid step.

    q_ref, o_ref: (block_q, head_dim). k_ref, v_ref: (block_kv, head_dim). lse_ref: (block_q, 1). m_scratch, l_scratch:
    (block_q, 128), lane-replicated. acc_scratch: (block_q, head_dim). Scratch and lse are float32.
    """
    tile = partition(table_ref, lengths_ref, plan)

    @pl.when(tile.starts_row_block)
    def _start():
        start_row_block(m_scratch, l_scratch, acc_scratch)

    @pl.when(tile.computed)
    def _compute():
        q, k, v = load(q_ref, k_ref, v_ref, tile, plan)
        refs = MaskRefs(q_ids_ref, kv_ids_ref, mask_ref, bias_ref)
        p, alpha = score_and_normalise(q, k, refs, m_scratch, l_scratch, tile, plan)
        accumulate(p, alpha, v, acc_scratch, plan)

    @pl.when(tile.ends_row_block)
    def _end():
        end_row_block(o_ref, lse_ref, m_scratch, l_scratch, acc_scratch)


def partition(table_ref, lengths_ref, plan: KernelPlan) -> Tile:
    """Stage 1: find this step's tile, and whether the mask leaves anything of it to compute."""
    with jax.named_scope("1_partition"):
        batch, head, q_block, kv_block = (pl.program_id(axis) for axis in range(4))
        entry = table_ref[plan.table.position(batch, head, q_block, kv_block)]
        return Tile(
            first_row=q_block * plan.blocks.block_q,
            first_col=kv_block * plan.blocks.block_kv,
            end_of_keys=plan.problem.kv_len if lengths_ref is None else lengths_ref[batch],
            computed=(entry & tiles.STATE_MASK) != masks.SKIPPED,
            starts_row_block=(entry & tiles.STARTS_ROW_BLOCK) != 0,
            ends_row_block=(entry & tiles.ENDS_ROW_BLOCK) != 0,
        )


def load(q_ref, k_ref, v_ref, tile: Tile, plan: KernelPlan) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Stage 2: read the blocks that the index maps brought into VMEM.

    Rows past the last visible key hold anything, NaN included; P is 0 there, and 0 x NaN would still be NaN, so V is
    set to 0. K needs nothing of the kind: its scores are replaced, not multiplied.
    """
    with jax.named_scope("2_load"):
        q, k, v = q_ref[...], k_ref[...], v_ref[...]
        if plan.ragged or plan.problem.kv_lengths is not None:
            row = tile.first_col + lax.broadcasted_iota(jnp.int32, v.shape, 0)
            v = lax.select(row < tile.end_of_keys, v, jnp.zeros_like(v))
        return q, k, v


def score_and_normalise(
    q, k, refs: MaskRefs, m_scratch, l_scratch, tile: Tile, plan: KernelPlan
) -> tuple[jax.Array, jax.Array]:
    """Stage 3: scores of the tile, then the running softmax.

    Returns P (block_q, block_kv) float32 relative to the new running max, and alpha (block_q, 128), by which all that
    was summed under the old max shrinks. A row that has seen no key has m = -inf; it is measured from 0 instead, so
    that exp(-inf - 0) = 0 stands where (-inf) - (-inf) would be NaN.
    """
    with jax.named_scope("3_score_and_normalise"):
        with jax.named_scope("S"):
            s = scores(q, k, refs, tile, plan)
        m_old, l_old = m_scratch[...], l_scratch[...]
        tile_max = jnp.max(s, axis=1, keepdims=True)
        with jax.named_scope("m_new"):
            m_new = lax.max(m_old, jnp.broadcast_to(tile_max, m_old.shape))
        origin = lax.select(m_new == -jnp.inf, jnp.zeros_like(m_new), m_new)
        with jax.named_scope("alpha"):
            alpha = jnp.exp(m_old - origin)
        with jax.named_scope("P"):
            p = jnp.exp(s - lanes_to(origin, s.shape[1]))
        with jax.named_scope("l_new"):
            l_new = alpha * l_old + jnp.sum(p, axis=1, keepdims=True)
        m_scratch[...] = m_new
        l_scratch[...] = l_new
        return p, alpha


def scores(q, k, refs: MaskRefs, tile: Tile, plan: KernelPlan) -> jax.Array:
    """float32 (block_q, block_kv): scale, softcap, bias, then -inf where the mask hides a pair."""
    problem = plan.problem
    s = lax.dot_general(
        q, k, (((1,), (1,)), ((), ())), precision=plan.precision, preferred_element_type=jnp.float32
    )  # fmt: skip
    s = s * problem.scale_in_force
    if problem.softcap is not None:
        s = problem.softcap * jnp.tanh(s / problem.softcap)
    if refs.bias is not None:
        s = s + refs.bias[...]
    seen = seen_pairs(s.shape, refs, tile, plan)
    return s if seen is None else lax.select(seen, s, jnp.full_like(s, -jnp.inf))


def seen_pairs(shape: tuple[int, int], refs: MaskRefs, tile: Tile, plan: KernelPlan) -> jax.Array | None:
    """bool ``shape``: pairs that may meet, made from the tile's position and mask blocks. None where all may."""
    problem = plan.problem
    row = tile.first_row + lax.broadcasted_iota(jnp.int32, shape, 0)
    col = tile.first_col + lax.broadcasted_iota(jnp.int32, shape, 1)
    rules = [masks.position_rule(problem, row, col)]
    if plan.ragged or problem.kv_lengths is not None:
        rules.append(col < tile.end_of_keys)
    if refs.q_ids is not None:
        rules.append(masks.segment_rule(refs.q_ids[...], refs.kv_ids[...], problem.padding_id))
    if refs.mask is not None:
        rules.append(refs.mask[...].astype(jnp.int32) != 0)
    given = [jnp.broadcast_to(rule, shape) for rule in rules if rule is not None]
    seen = given[0] if given else None
    for rule in given[1:]:
        seen = seen & rule
    return seen


def accumulate(p, alpha, v, acc_scratch, plan: KernelPlan) -> None:
    """Stage 4: acc shrinks by alpha and takes P V, in float32; P is rounded to V's dtype for the matrix unit."""
    with jax.named_scope("4_accumulate"):
        shrunk = acc_scratch[...] * lanes_to(alpha, acc_scratch.shape[1])
        with jax.named_scope("acc_new"):
            acc_new = shrunk + lax.dot(
                p.astype(v.dtype), v, precision=plan.precision, preferred_element_type=jnp.float32
            )
        acc_scratch[...] = acc_new


def start_row_block(m_scratch, l_scratch, acc_scratch) -> None:
    """Stage 5, first step of a row block: no key seen yet. Any finite start for m would lose rows below it."""
    with jax.named_scope("5_schedule"):
        m_scratch[...] = jnp.full_like(m_scratch, -jnp.inf)
        l_scratch[...] = jnp.zeros_like(l_scratch)
        acc_scratch[...] = jnp.zeros_like(acc_scratch)


def end_row_block(o_ref, lse_ref, m_scratch, l_scratch, acc_scratch) -> None:
    """Stage 5, last step of a row block: divide once, write O and LSE. A row that saw no key gives 0 and -inf."""
    with jax.named_scope("5_schedule"):
        l_final = l_scratch[...]
        unseen = l_final == 0.0
        divisor = lax.select(unseen, jnp.ones_like(l_final), l_final)
        o_ref[...] = (acc_scratch[...] / lanes_to(divisor, acc_scratch.shape[1])).astype(o_ref.dtype)
        lse_ref[...] = (m_scratch[...] + jnp.log(divisor))[:, :1]


def lanes_to(x: jax.Array, width: int) -> jax.Array:
    """A lane-replicated (rows, 128) array as (rows, width): whole registers repeated, the last one cut."""
    repeats = pl.cdiv(width, LANES)
    wide = x if repeats == 1 else jnp.concatenate([x] * repeats, axis=1)
    return wide if wide.shape[1] == width else wide[:, :width]
