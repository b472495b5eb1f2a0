"""Kept carries: where a driver can resume without running the kernel from its beginning."""

from __future__ import annotations

import bisect

from explorer.engine.instrument import Carry


class Keyframes:
    """Carries by the step that they lead into, within a budget of bytes.

    When the budget is used up, every second one is dropped (never step 0): the distance to the nearest keyframe
    doubles, memory stays bounded.
    """

    def __init__(self, first: Carry, budget: int) -> None:
        self._first = first
        self._budget = budget
        self._kept: dict[int, Carry] = {0: first}
        self._steps = [0]
        self._each = max(1, sum(array.nbytes for part in first for array in part))

    @property
    def nbytes(self) -> int:
        """Bytes held."""
        return self._each * len(self._steps)

    def keep(self, step: int, carry: Carry) -> None:
        """Keep the carry into a step."""
        if step in self._kept:
            return
        bisect.insort(self._steps, step)
        self._kept[step] = carry
        if self.nbytes > self._budget and len(self._steps) > 2:
            for dropped in self._steps[1::2]:
                del self._kept[dropped]
            self._steps = self._steps[::2]

    def nearest(self, step: int) -> tuple[int, Carry]:
        """The last kept step at or before ``step``, with its carry."""
        at = self._steps[bisect.bisect_right(self._steps, step) - 1]
        return at, self._kept[at]
