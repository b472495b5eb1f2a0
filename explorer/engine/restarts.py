"""Finds grid steps that depend on nothing that came before, where a jump can begin."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import numpy as np

from explorer.engine.bits import same_bits
from explorer.engine.instrument import Carry
from explorer.engine.output_store import OutputStore
from explorer.engine.runner import Runner

_FAILURES_BEFORE_GIVING_UP = 4


class Restarts:
    """Tries the steps where every output begins a new block.

    Such a step is a restart when it leaves the same bits, in all scratch and outputs, whichever of three carries it
    finds: NaN, large mixed numbers, and their negatives. This is evidence from running that very step, not a proof
    for a kernel that hides a dependence on other values. A kernel that comes back to an output block has none.
    """

    def __init__(self, runner: Runner, store: OutputStore) -> None:
        self._runner = runner
        self._known: dict[int, bool] = {0: True}
        self._failures = 0
        self._candidates = np.zeros(0, np.int64)
        if not store.revisits:
            begins = [set(runs.first.tolist()) for runs in store.runs]
            self._candidates = np.array(sorted(set.intersection(*begins)), np.int64)

    def before(self, step: int, after: int) -> int | None:
        """The last restart at or before ``step`` that lies after ``after``; None where there is none."""
        at = int(np.searchsorted(self._candidates, step, side="right")) - 1
        if at < 0 or self._candidates[at] <= after or self._failures >= _FAILURES_BEFORE_GIVING_UP:
            return None
        candidate = int(self._candidates[at])
        if candidate not in self._known:
            self._known[candidate] = self._depends_on_nothing(candidate)
            self._failures += not self._known[candidate]
        return candidate if self._known[candidate] else None

    def _depends_on_nothing(self, step: int) -> bool:
        empty = self._runner.first_carry()
        expected: list[np.ndarray] | None = None
        for pattern in range(3):
            scratch = tuple(_poison(array, pattern) for array in empty.scratch)
            ran = self._runner.run(Carry(scratch, empty.outputs), step)
            found = [np.asarray(array) for part in ran.carry for array in part]
            if expected is not None and not all(map(same_bits, found, expected)):
                return False
            expected = found
        return True


def _poison(array: Any, pattern: int) -> Any:
    """NaN; large numbers of both signs; their negatives. Integers: extremes of either end and a mix."""
    mixed = np.resize(np.array([7.25e4, -3.5e3, 1.5e-3, -6.0e4], np.float64), array.shape)
    if jnp.issubdtype(array.dtype, jnp.floating):
        return jnp.asarray([np.full(array.shape, np.nan), mixed, -mixed][pattern], array.dtype)
    if array.dtype == jnp.bool_:
        return jnp.asarray([np.zeros(array.shape), np.ones(array.shape), mixed > 0][pattern], array.dtype)
    limits = jnp.iinfo(array.dtype)
    low, high = [(limits.min, 0), (limits.max, 2), (1, limits.max)][pattern]
    return jnp.asarray(np.where(mixed > 0, low, high), array.dtype)
