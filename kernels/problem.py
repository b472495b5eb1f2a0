"""What is being computed: one attention problem, validated, without any framework.

Everything a kernel or a reference needs to know besides the numbers in q, k and v is here. NumPy only, so that a
process that must not load JAX can build, send and check problems.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from kernels import checks
from kernels.checks import ProblemError

__all__ = ["Alignment", "AttentionProblem", "Dtype", "EmptyRows", "ProblemError"]

Dtype = Literal["float32", "bfloat16"]
Alignment = Literal["top-left", "bottom-right"]
EmptyRows = Literal["zero", "mean-v", "nan"]


@dataclass(frozen=True, eq=False, kw_only=True)
class AttentionProblem:
    """One attention problem: ``softmax(scale * Q K^T -> softcap -> + bias -> mask) V`` per head.

    Shapes the problem stands for: q and o are ``(batch, heads, q_len, head_dim)``, k and v are
    ``(batch, kv_heads, kv_len, head_dim)``, LSE is ``(batch, heads, q_len)``. Query head ``h`` reads kv head
    ``h // (heads // kv_heads)``.

    Attributes:
        q_len, kv_len, head_dim, batch, heads: positive ints.
        kv_heads: number of K/V heads; ``None`` means ``heads``. Must divide ``heads`` (GQA; 1 is MQA).
        dtype: of q, k, v and o. Scores, softmax and accumulation are always float32.
        scale: factor on Q K^T; ``None`` becomes ``head_dim ** -0.5``. Never zero.
        softcap: ``softcap * tanh(s / softcap)`` on scaled scores, before bias and mask; ``None`` is off.
        causal: query i sees key j only where ``j <= i + shift``.
        alignment: where the diagonal of ``causal`` and ``window`` lies when lengths differ: ``top-left`` has shift 0,
            ``bottom-right`` has shift ``kv_len - q_len``.
        window: (left, right), each ``None`` for no bound: ``i + shift - left <= j <= i + shift + right``.
        q_segment_ids, kv_segment_ids: int32 ``(batch, q_len)`` and ``(batch, kv_len)``; a pair is allowed where they
            are equal. Both or neither.
        padding_id: the segment id that marks padding: it attends to nothing and is attended by nothing.
        kv_lengths: int32 ``(batch,)``: keys at and after it are not seen.
        mask: bool, broadcastable to ``(batch, heads, q_len, kv_len)``, 4-D; True is allowed.
        bias: float32, broadcastable likewise, 4-D; added to the (softcapped) scores.
        empty_rows: what a row that sees no key gives: 0, the mean of V over the keys of its batch element, or NaN.
            Its LSE is -inf in each case.

    Arrays are kept as read-only copies. Raises ``ProblemError`` for what cannot be computed.
    """

    q_len: int
    kv_len: int
    head_dim: int
    batch: int = 1
    heads: int = 1
    kv_heads: int | None = None
    dtype: Dtype = "float32"
    scale: float | None = None
    softcap: float | None = None
    causal: bool = False
    alignment: Alignment = "top-left"
    window: tuple[int | None, int | None] | None = None
    q_segment_ids: np.ndarray | None = None
    kv_segment_ids: np.ndarray | None = None
    padding_id: int | None = None
    kv_lengths: np.ndarray | None = None
    mask: np.ndarray | None = None
    bias: np.ndarray | None = None
    empty_rows: EmptyRows = "zero"

    def __post_init__(self) -> None:
        self._check_sizes()
        self._check_numbers()
        self._check_mask_rules()
        self._check_segments()
        full = (self.batch, self.heads, self.q_len, self.kv_len)
        if self.mask is not None:
            self._set("mask", checks.pairwise("mask", self.mask, full, bool))
        if self.bias is not None:
            self._set("bias", checks.bias(self.bias, full))

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)  # the way round frozen, for normalising only

    def _check_sizes(self) -> None:
        for name in ("q_len", "kv_len", "head_dim", "batch", "heads"):
            self._set(name, checks.integer(name, getattr(self, name), at_least=1))
        if self.kv_heads is None:
            return
        self._set("kv_heads", checks.integer("kv_heads", self.kv_heads, at_least=1))
        if self.heads % self.kv_head_count:
            fitting = ", ".join(str(n) for n in range(1, self.heads + 1) if self.heads % n == 0)
            raise ProblemError(
                f"{self.heads} query heads cannot share {self.kv_heads} kv heads evenly; kv_heads may be {fitting}"
            )

    def _check_numbers(self) -> None:
        checks.choice("dtype", self.dtype, get_args(Dtype))
        if self.scale is not None:
            self._set("scale", checks.real("scale", self.scale, "give a finite number, or none for head_dim ** -0.5"))
            if self.scale == 0.0:
                raise ProblemError("scale is 0, which makes every score equal; give another, or none for the default")
        if self.softcap is not None:
            self._set("softcap", checks.real("softcap", self.softcap, "give a positive number, or none for no cap"))
            if self.softcap <= 0.0:
                raise ProblemError(f"softcap is {self.softcap}; give a positive number, or none for no cap")

    def _check_mask_rules(self) -> None:
        self._set("causal", checks.flag("causal", self.causal))
        checks.choice("alignment", self.alignment, get_args(Alignment))
        checks.choice("empty_rows", self.empty_rows, get_args(EmptyRows))
        self._set("window", checks.window(self.window))
        if self.kv_lengths is not None:
            self._set("kv_lengths", checks.integers("kv_lengths", self.kv_lengths, (self.batch,)))
            if self.kv_lengths.min() < 0 or self.kv_lengths.max() > self.kv_len:
                given = ", ".join(map(str, self.kv_lengths))
                raise ProblemError(f"kv_lengths are {given}; each must lie in 0..{self.kv_len} (kv_len)")

    def _check_segments(self) -> None:
        q_ids, kv_ids = self.q_segment_ids, self.kv_segment_ids
        if (q_ids is None) != (kv_ids is None):
            missing, given = ("q", "kv") if q_ids is None else ("kv", "q")
            raise ProblemError(f"{given}_segment_ids came without {missing}_segment_ids; give both, or neither")
        if q_ids is not None:
            self._set("q_segment_ids", checks.integers("q_segment_ids", q_ids, (self.batch, self.q_len)))
            self._set("kv_segment_ids", checks.integers("kv_segment_ids", kv_ids, (self.batch, self.kv_len)))
        if self.padding_id is not None:
            lowest = int(np.iinfo(np.int32).min)
            self._set("padding_id", checks.integer("padding_id", self.padding_id, at_least=lowest))
            if q_ids is None:
                raise ProblemError("padding_id came without segment ids; give q_segment_ids and kv_segment_ids with it")

    def check_operands(self, q: Any, k: Any, v: Any) -> None:
        """Raises ``ProblemError`` unless q, k and v (arrays of any framework) have the shapes of this problem."""
        q_shape = (self.batch, self.heads, self.q_len, self.head_dim)
        kv_shape = (self.batch, self.kv_head_count, self.kv_len, self.head_dim)
        for name, array, needed in (("q", q, q_shape), ("k", k, kv_shape), ("v", v, kv_shape)):
            if tuple(array.shape) != needed:
                raise ProblemError(f"{name} has shape {tuple(array.shape)}; this problem needs {needed}")

    @property
    def kv_head_count(self) -> int:
        return self.heads if self.kv_heads is None else self.kv_heads

    @property
    def group(self) -> int:
        """Query heads that share one kv head."""
        return self.heads // self.kv_head_count

    @property
    def shift(self) -> int:
        """How far right of the main diagonal the diagonal of ``causal`` and ``window`` lies."""
        return self.kv_len - self.q_len if self.alignment == "bottom-right" else 0

    @property
    def scale_in_force(self) -> float:
        return self.head_dim**-0.5 if self.scale is None else self.scale

    def replace(self, **changes: object) -> AttentionProblem:
        """A copy with some fields changed, validated again."""
        return dataclasses.replace(self, **changes)  # type: ignore[arg-type]
