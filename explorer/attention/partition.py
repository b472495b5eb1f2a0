"""Evidence of the first stage: the tiles that run cover every allowed (query, key) pair of a head exactly once."""

from __future__ import annotations

import numpy as np

from explorer.attention.moment import Moment
from explorer.attention.subject import Driven, Subject
from kernels import masks

CHECKED_PAIRS = 1 << 26
"""Pairs of a head up to which the mask is counted out; beyond it the count would be slower than the step."""


def partition_evidence(moment: Moment) -> tuple[bool | None, str]:
    """Whether each allowed pair of this step's head lies in one computed tile, in words."""
    problem = moment.subject.problem
    if (moment.driven.order < 0).any():
        return None, "not checked: the grid of this kernel is not known"
    if problem.q_len * problem.kv_len > CHECKED_PAIRS:
        return None, "not checked: too many pairs to count"
    batch, head, _, _ = moment.place
    cache = moment.driven.covered
    if (batch, head) not in cache:
        cache[batch, head] = _covered(moment.subject, moment.driven, batch, head)
    allowed, covered, doubled = cache[batch, head]
    if doubled:
        return False, f"{doubled} tiles are visited twice"
    if allowed != covered:
        return False, f"{covered} of {allowed} allowed pairs are covered"
    return True, f"each of {allowed} allowed pairs covered once"


def _covered(subject: Subject, driven: Driven, batch: int, head: int) -> tuple[int, int, int]:
    """Allowed pairs, those of them in computed tiles, and tiles visited more than once, of one head."""
    problem, blocks = subject.problem, subject.blocks
    here = (driven.order[:, 0] == batch) & (driven.order[:, 1] == head) & driven.computed
    q_blocks, kv_blocks = driven.tile_states.shape[2:]
    visits = np.zeros((q_blocks, kv_blocks), np.int64)
    np.add.at(visits, tuple(driven.order[here, 2:].T), 1)
    allowed = covered = 0
    for q_block in range(q_blocks):
        rows = slice(q_block * blocks.block_q, min((q_block + 1) * blocks.block_q, problem.q_len))
        mask = masks.allowed(problem, batch, head, rows, slice(0, problem.kv_len))
        counts = np.add.reduceat(mask.sum(axis=0), np.arange(0, problem.kv_len, blocks.block_kv))
        allowed += int(counts.sum())
        covered += int(counts[visits[q_block] > 0].sum())
    return allowed, covered, int((visits > 1).sum())
