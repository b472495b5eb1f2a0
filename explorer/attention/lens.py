"""Names for what a kernel's equations and scratch hold: which value is S, P, m, l, alpha, acc.

Our kernel names its own values with ``jax.named_scope``. For JAX's kernels the names come from a small table. For any
other kernel there is no lens, and nothing is claimed beyond source lines, refs and transfers.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from explorer.engine.driver import StepRecord
from explorer.engine.program import Program
from explorer.link.messages import Role

STAGES = {
    "1_partition": 1,
    "2_load": 2,
    "3_score_and_normalise": 3,
    "4_accumulate": 4,
    "5_schedule": 5,
}
STAGE_TITLES = {1: "Partition", 2: "Load", 3: "Score and normalise", 4: "Accumulate", 5: "Schedule"}
VALUE_NAMES = ("S", "P", "m_new", "alpha", "l_new", "acc_new")

_ROLES: Mapping[str, Role] = {
    "q": "q", "k": "k", "v": "v", "o": "output", "S": "scores", "P": "scores", "lse": "softmax",
    "m": "softmax", "l": "softmax", "alpha": "softmax", "m_new": "softmax", "l_new": "softmax",
    "acc": "acc", "acc_new": "acc",
}  # fmt: skip
ATTENTION_GRID = ("batch", "head", "q block", "kv block")
Skips = Literal["mask", "causal", "nothing"]
"""Which tiles a kernel leaves out: all that the mask empties, those above a causal diagonal, or none."""


def short_name(ref_name: str) -> str:
    """``q_tile_ref`` -> ``q``, ``m_scratch`` -> ``m``: the name of the thing a kernel's ref stands for."""
    name = ref_name
    for suffix in ("_ref", "_tile", "_scratch"):
        name = name.removesuffix(suffix)
    return name


def role(name: str) -> Role:
    """Colour role of a thing by its short name; 'other' for what the lens does not know."""
    return _ROLES.get(name, "other")


def stage_of(scope: str) -> int:
    """The stage (1 to 5) that a named-scope path lies in, 0 where it names none."""
    return next((number for name, number in STAGES.items() if name in scope.split("/")), 0)


@dataclass(frozen=True)
class Lens:
    """What one captured program's parts are called.

    values: equation index by value name. refs: ref name by short name, operands and scratch alike (q, k, v, o, m, l,
    acc). acc_is_normalised: JAX's kernel divides by l at every step, so that its acc is the output so far.
    """

    title: str
    refs: Mapping[str, str]
    values: Mapping[str, int] = field(default_factory=dict)
    grid_names: tuple[str, ...] = ()
    skips: Skips = "nothing"
    acc_is_normalised: bool = False

    def display(self, ref_name: str) -> str:
        """The short name of a ref."""
        return next((short for short, ref in self.refs.items() if ref == ref_name), short_name(ref_name))

    def value(self, record: StepRecord, name: str) -> np.ndarray | None:
        """float32 value of a named equation in a step; None where it has no such name or did not run."""
        index = self.values.get(name)
        if index is None or not record.executed.get(index, False):
            return None
        return _as_matrix(record.values[index])

    def carried(self, scratch: Mapping[str, np.ndarray], name: str) -> np.ndarray | None:
        """A scratch ref's content: (rows,) for m and l (lanes are replicas), (rows, head_dim) for acc."""
        content = scratch.get(self.refs.get(name, ""))
        if content is None:
            return None
        matrix = _as_matrix(content)
        return matrix[:, 0] if name in ("m", "l") else matrix


def _as_matrix(value: np.ndarray) -> np.ndarray:
    array = np.asarray(value, dtype=np.float32)
    return array.reshape(array.shape[-2:]) if array.ndim > 2 else array


def find(kernel: str, program: Program) -> Lens:
    """The lens for a kernel of the catalog; one without value names for a kernel nobody has described."""
    known: dict[str, Callable[[Program], Lens | None]] = {"flash": _own_lens, "jax-flash": _jax_flash_lens}
    lens = known[kernel](program) if kernel in known else None
    return lens or Lens("", refs={short_name(item.name): item.name for item in program.operands})


def _own_lens(program: Program) -> Lens:
    """The last equation inside a value's scope is the value."""
    values = {}
    for equation in program.equations:
        leaf = equation.scope.rsplit("/", 1)[-1]
        if leaf in VALUE_NAMES and stage_of(equation.scope):
            values[leaf] = equation.index
    refs = {short_name(name): name for name in _ref_names(program)}
    return Lens("the kernel's own stage names", refs, values, ATTENTION_GRID, skips="mask")


def _ref_names(program: Program) -> list[str]:
    return [item.name for item in program.operands] + [item.name for item in program.scratch]


def _jax_flash_lens(program: Program) -> Lens | None:
    """JAX's kernel by position and primitive: its refs beyond q are unnamed, and its body has no scopes.

    In its loop body the scores end where the row maximum is taken of them; then follow the maximum with m, exp for P,
    and exp for alpha. None where that order is not found, or where the body runs more than once a step.
    """
    body = [e for e in program.equations if e.function.endswith("._body") and e.is_float and set(e.trips) <= {1}]
    order = [e.primitive for e in body]
    if order.count("reduce_max") != 1 or order.count("exp") != 2 or order.count("max") != 1:
        return None
    p, alpha = (e.index for e in body if e.primitive == "exp")
    values = {
        "S": body[order.index("reduce_max") - 1].index,
        "m_new": body[order.index("max")].index,
        "P": p,
        "alpha": alpha,
    }
    if len(program.scratch) != 3:
        return None
    operands = zip("qkvo", (*program.inputs[:3], program.outputs[0]), strict=True)
    refs = {name: operand.name for name, operand in operands}
    refs |= {name: item.name for name, item in zip(("m", "l", "acc"), program.scratch, strict=True)}
    title = "a table by position and primitive of JAX's kernel body"
    return Lens(title, refs, values, ATTENTION_GRID, skips="causal", acc_is_normalised=True)
