"""Which pairs may meet, and which tiles are left: against the plainest loops over pairs."""

import time

import numpy as np
import pytest

from kernels import masks
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

EVERYTHING = slice(None)


def pairs_by_hand(problem: AttentionProblem, batch: int, head: int) -> np.ndarray:
    """bool (q_len, kv_len), pair by pair, from the words of AttentionProblem's docstring."""
    shift = problem.kv_len - problem.q_len if problem.alignment == "bottom-right" else 0
    left, right = problem.window or (None, None)
    result = np.zeros((problem.q_len, problem.kv_len), bool)
    for i in range(problem.q_len):
        for j in range(problem.kv_len):
            ok = not problem.causal or j <= i + shift
            ok = ok and (left is None or i + shift - left <= j)
            ok = ok and (right is None or j <= i + shift + right)
            if problem.q_segment_ids is not None:
                mine, its = problem.q_segment_ids[batch, i], problem.kv_segment_ids[batch, j]
                ok = ok and mine == its and mine != problem.padding_id and its != problem.padding_id
            if problem.kv_lengths is not None:
                ok = ok and j < problem.kv_lengths[batch]
            if problem.mask is not None:
                full = np.broadcast_to(problem.mask, (problem.batch, problem.heads, problem.q_len, problem.kv_len))
                ok = ok and full[batch, head, i, j]
            result[i, j] = ok
    return result


def random_problem(seed: int) -> AttentionProblem:
    """Small, with a random mixture of everything that masks."""
    rng = np.random.default_rng(seed)
    q_len, kv_len, batch, heads = rng.integers(1, 24), rng.integers(1, 24), rng.integers(1, 3), rng.integers(1, 3)
    on = rng.random(6) < 0.4
    segments = {}
    if on[1]:
        ids = [rng.integers(0, 4, (batch, n)) for n in (q_len, kv_len)]
        if rng.random() < 0.5:
            ids = [np.sort(x, axis=1) for x in ids]
        segments = {"q_segment_ids": ids[0], "kv_segment_ids": ids[1], "padding_id": 3 if on[2] else None}
    side = [None, 0, 2, 5]
    shape = [rng.choice([1, n]) for n in (batch, heads, q_len, kv_len)]
    return AttentionProblem(
        q_len=q_len,
        kv_len=kv_len,
        head_dim=4,
        batch=batch,
        heads=heads,
        causal=bool(on[0]),
        alignment=str(rng.choice(["top-left", "bottom-right"])),
        window=(side[rng.integers(4)], side[rng.integers(4)]) if on[3] else None,
        kv_lengths=rng.integers(0, kv_len + 1, batch) if on[4] else None,
        mask=rng.random(shape) < rng.choice([0.1, 0.9]) if on[5] else None,
        **segments,
    )


@pytest.mark.parametrize("seed", range(60))
def test_pairs_tiles_and_empty_rows_agree_with_loops(seed):
    problem = random_problem(seed)
    rng = np.random.default_rng(1000 + seed)
    blocks = BlockSizes(int(rng.integers(1, 9)), int(rng.integers(1, 9))).clamped(problem)
    states = masks.tile_states(problem, blocks)
    empty = masks.empty_rows(problem)
    assert states.dtype == np.int8
    assert states.shape == (problem.batch, problem.heads, *blocks.counts(problem))
    for b in range(problem.batch):
        for h in range(problem.heads):
            pairs = pairs_by_hand(problem, b, h)
            np.testing.assert_array_equal(masks.allowed(problem, b, h, EVERYTHING, EVERYTHING), pairs)
            np.testing.assert_array_equal(empty[b, h], ~pairs.any(axis=1))
            for i, j in np.ndindex(states.shape[2:]):
                tile = pairs[i * blocks.block_q : (i + 1) * blocks.block_q, j * blocks.block_kv :][:, : blocks.block_kv]
                assert states[b, h, i, j] == (2 if tile.all() else 1 if tile.any() else 0)


def test_a_slice_of_pairs_is_that_slice():
    problem = random_problem(3)
    whole = masks.allowed(problem, 0, 0, EVERYTHING, EVERYTHING)
    np.testing.assert_array_equal(masks.allowed(problem, 0, 0, slice(2, 7), slice(1, 4)), whole[2:7, 1:4])


def test_long_structured_masks_build_nothing_large():
    n = 131_072
    problem = AttentionProblem(q_len=n, kv_len=n, head_dim=128, causal=True)
    begin = time.perf_counter()
    states = masks.tile_states(problem, BlockSizes(512, 512))
    assert time.perf_counter() - begin < 0.5
    blocks = n // 512
    assert np.count_nonzero(states == masks.FULL) == blocks * (blocks - 1) // 2
    assert np.count_nonzero(states == masks.PARTIAL) == blocks
    np.testing.assert_array_equal(np.diagonal(states[0, 0]), masks.PARTIAL)


def test_packed_segments_of_a_long_sequence_look_only_at_tiles_on_the_seams():
    n = 32_768
    ids = (np.arange(n) // 1000)[None]
    problem = AttentionProblem(q_len=n, kv_len=n, head_dim=64, causal=True, q_segment_ids=ids, kv_segment_ids=ids)
    begin = time.perf_counter()
    states = masks.tile_states(problem, BlockSizes(256, 256))[0, 0]
    assert time.perf_counter() - begin < 2.0
    i, j = np.argwhere(states != masks.SKIPPED).T
    first, last = ids[0, ::256], ids[0, 255::256]
    assert (first[i] <= last[j]).all()
    assert (j <= i).all()
    assert set(zip(i.tolist(), j.tolist(), strict=True)) == {
        (a, b) for a in range(n // 256) for b in range(a + 1) if first[a] <= last[b]
    }
