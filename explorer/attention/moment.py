"""One grid step of a driven attention kernel, named: what it works on, held before and holds after."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from explorer.attention.references import Prefix
from explorer.attention.subject import Driven, Subject
from explorer.engine.driver import StepRecord
from explorer.link.messages import SoftmaxState
from kernels import masks


@dataclass(frozen=True, eq=False)
class Moment:
    """A step record beside its subject; arrays are cropped to real rows and keys. Derived values are kept."""

    subject: Subject
    driven: Driven
    record: StepRecord

    @property
    def step(self) -> int:
        return self.record.step

    @cached_property
    def place(self) -> tuple[int, int, int, int]:
        """Batch, head, q block, kv block."""
        batch, head, q_block, kv_block = (int(x) for x in self.driven.order[self.step])
        return batch, head, q_block, kv_block

    @cached_property
    def rows(self) -> slice:
        """Query rows of the tile, without those past the end."""
        return _block(self.place[2], self.subject.blocks.block_q, self.subject.problem.q_len)

    @cached_property
    def keys(self) -> slice:
        return _block(self.place[3], self.subject.blocks.block_kv, self.subject.problem.kv_len)

    @property
    def row_count(self) -> int:
        return self.rows.stop - self.rows.start

    @property
    def computed(self) -> bool:
        return bool(self.driven.computed[self.step])

    @cached_property
    def row_block_steps(self) -> np.ndarray:
        """Grid steps of this row block, in order."""
        start = self.first_step_of(self.place[2])
        return np.arange(start, start + self.driven.tile_states.shape[3])

    def first_step_of(self, q_block: int) -> int:
        """First grid step of another row block of this head."""
        return self.step - self.place[3] + (q_block - self.place[2]) * self.driven.tile_states.shape[3]

    @cached_property
    def seen_before(self) -> int:
        """Keys seen by this row block before the step: the end of the last computed tile, 0 where there is none."""
        return self._seen(self.step)

    @cached_property
    def seen_after(self) -> int:
        return self._seen(self.step + 1)

    def _seen(self, end: int) -> int:
        steps = self.row_block_steps[self.row_block_steps < end]
        done = steps[self.driven.computed[steps]]
        if not done.size:
            return 0
        last_block = int(self.driven.order[done[-1], 3])
        return _block(last_block, self.subject.blocks.block_kv, self.subject.problem.kv_len).stop

    @property
    def row_block_finished(self) -> bool:
        """True once no tile of this row block is still to come."""
        return not self.driven.computed[self.row_block_steps[self.row_block_steps > self.step]].any()

    @property
    def output_written(self) -> bool:
        """Whether the kernel has written O by now: ours at the last tile of a row block, others at its last step."""
        at_end = self.step == self.row_block_steps[-1]
        return at_end or (self.row_block_finished and self.driven.lens.skips == "mask")

    @cached_property
    def allowed(self) -> np.ndarray:
        """bool (rows, keys): the mask over this tile."""
        batch, head, _, _ = self.place
        return masks.allowed(self.subject.problem, batch, head, self.rows, self.keys)

    def tile(self, name: str) -> np.ndarray | None:
        """S or P as the kernel has it, float32 (rows, keys)."""
        value = self.driven.lens.value(self.record, name) if self.computed else None
        return None if value is None else value[: self.row_count, : self.keys.stop - self.keys.start]

    def carried(self, name: str, *, after: bool) -> np.ndarray | None:
        """m, l or acc. Before a row block's first tile it is what that tile starts from: -inf, 0 and 0."""
        scratch = self.record.scratch_after if after else self.record.scratch_before
        value = self.driven.lens.carried(scratch, name)
        if value is None:
            return None
        value = value[: self.row_count]
        if not (self.seen_after if after else self.seen_before):
            return np.full_like(value, -np.inf if name == "m" else 0.0)
        return value

    @cached_property
    def softmax(self) -> SoftmaxState | None:
        """Running max and sum before and after; None where the lens cannot name them."""
        m_before, m_after = self.carried("m", after=False), self.carried("m", after=True)
        l_before, l_after = self.carried("l", after=False), self.carried("l", after=True)
        if m_before is None or m_after is None or l_before is None or l_after is None:
            return None
        scores, probabilities = self.tile("S"), self.tile("P")
        nothing = np.full(self.row_count, -np.inf, np.float32)
        return SoftmaxState(
            m_before=m_before,
            m_after=m_after,
            alpha=self._alpha(m_before, m_after),
            l_before=l_before,
            l_after=l_after,
            new_sum=np.zeros_like(l_after) if probabilities is None else probabilities.sum(axis=1),
            tile_max=nothing if scores is None else scores.max(axis=1),
        )

    def _alpha(self, m_before: np.ndarray, m_after: np.ndarray) -> np.ndarray:
        """The kernel's own alpha where the tile ran; 1 where the step left m alone."""
        value = self.driven.lens.value(self.record, "alpha") if self.computed else None
        if value is not None:
            return value[: self.row_count].reshape(self.row_count, -1)[:, 0]
        return np.ones_like(m_after)

    @cached_property
    def output_rows(self) -> np.ndarray | None:
        """Output of this row block so far, float32 (rows, head_dim): acc / l, NaN in rows that saw no key."""
        acc, running_sum = self.carried("acc", after=True), self.carried("l", after=True)
        if acc is None or running_sum is None:
            return None
        seen = (running_sum > 0)[:, None]
        divisor = np.ones_like(running_sum) if self.driven.lens.acc_is_normalised else running_sum
        return np.where(seen, acc / np.where(seen, divisor[:, None], 1.0), np.nan).astype(np.float32)

    @cached_property
    def expected(self) -> Prefix:
        """float64 attention of these rows over the keys seen so far."""
        batch, head, _, _ = self.place
        return self.subject.references.prefix(batch, head, self.rows, self.seen_after)


def _block(index: int, size: int, length: int) -> slice:
    return slice(index * size, min((index + 1) * size, length))
