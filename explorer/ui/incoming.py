"""A configuration on its way in: the parts of its first picture, gathered until all are there."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from explorer.link.messages import Configured, Matrix, MatrixKind, Snapshot, Strips
from explorer.session.prepared import Prepared


@dataclass(frozen=True, eq=False)
class Incoming:
    """``missing`` parts were refused by the engine and are not waited for; ``problem`` is the first reason."""

    prepared: Prepared
    configured: Configured
    matrix_kind: MatrixKind
    snapshot: Snapshot | None = None
    matrix: Matrix | None = None
    strips: Strips | None = None
    missing: frozenset[str] = frozenset()
    problem: str = ""

    @property
    def complete(self) -> bool:
        """Whether everything that will come has come."""
        stepped = self.snapshot is not None or not self.configured.driven or "goto" in self.missing
        pictured = self.matrix is not None or "matrix" in self.missing
        lined = self.strips is not None or "strips" in self.missing
        return stepped and ("goto" in self.missing or (pictured and lined))

    def without(self, tag: str, problem: str) -> Incoming:
        """The same, no longer waiting for a part."""
        return replace(self, missing=self.missing | {tag}, problem=self.problem or problem)


def opening_step(configured: Configured) -> int:
    """A step in the middle of the first head, where done, current, skipped and coming tiles all show."""
    order = configured.order
    first_head = (order[:, 0] <= 0) & (order[:, 1] <= 0)
    steps = np.flatnonzero(configured.timeline.computed & first_head)
    return int(steps[(2 * len(steps)) // 5]) if steps.size else 0


def same_place(shown: Snapshot | None, configured: Configured, otherwise: int) -> int:
    """The step of a new run whose tile holds the first pair of the tile on screen, or the computed one nearest to it.

    ``otherwise`` where nothing is on screen, or the grid of either kernel is not known.
    """
    if shown is None or shown.q_block < 0 or (configured.order < 0).any() or not configured.steps:
        return otherwise
    problem, blocks = configured.problem, configured.blocks
    place = (
        min(shown.batch, problem.batch - 1),
        min(shown.head, problem.heads - 1),
        min(shown.q_range[0], problem.q_len - 1) // blocks.block_q,
        min(shown.kv_range[0], problem.kv_len - 1) // blocks.block_kv,
    )
    step = int(np.flatnonzero((configured.order == place).all(axis=1))[0])
    in_head = (configured.order[:, :2] == place[:2]).all(axis=1)
    computed = np.flatnonzero(configured.timeline.computed & in_head)
    return int(computed[np.abs(computed - step).argmin()]) if computed.size else step
