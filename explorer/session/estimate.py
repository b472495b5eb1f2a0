"""How much memory a problem takes, and a refusal before it is taken."""

from __future__ import annotations

import contextlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

from explorer.session.config import Configuration
from explorer.units import byte_text, count_text, plural
from kernels.problem import ProblemError

FALLBACK_MEMORY_BYTES = 8 << 30
"""Taken where the platform does not say how much there is."""
MATERIALISING = ("naive", "xla")
"""Kernels that hold S and P of all heads at once. Of the others, naive is computed beside them one head at a time."""
_NAIVE_HEAD_LIMIT = 1 << 30
"""The engine does without naive attention where S and P of one head take more."""
_BYTES_PER_PAIR = 4 + 4
"""S and P in float32 for one (query, key) pair."""
_REFERENCE_BYTES_PER_KEY = 512 * 8 * 3
"""The float64 reference goes by 512 rows: scores, probabilities and what it needs to get from one to the other."""
_COPIES_OF_INPUTS = 6
"""float32 in the window and the engine, in the problem's dtype, the oracle's float64 (counts twice), and in transit."""
_BYTES_PER_STEP = 256
"""Order, transfers and modelled times of one grid step."""
_SIZES = ("q_len", "kv_len", "heads", "kv_heads", "head_dim", "block_q", "block_kv")


@dataclass(frozen=True)
class SizeEstimate:
    """Bytes that a problem takes over both processes."""

    inputs: int
    """q, k, v and o in their several copies."""
    pairs: int
    """S and P: naive's, and those rows of the float64 reference that are held at once."""
    steps: int
    """What is kept for each grid step."""

    @property
    def total(self) -> int:
        return self.inputs + self.pairs + self.steps


@dataclass(frozen=True)
class Sizes:
    """What an estimate needs: q (batch, heads, q_len, head_dim), k (batch, kv_heads, kv_len, head_dim), tiles, kernel.

    ``pair_bytes`` is what the input itself holds for each (query, key) pair of all heads (mask, bias).
    """

    q_shape: tuple[int, ...]
    k_shape: tuple[int, ...]
    block_q: int
    block_kv: int
    kernel: str = "flash"
    pair_bytes: int = 0


def estimate(sizes: Sizes) -> SizeEstimate:
    """Bytes for a problem of these sizes. Allocates nothing."""
    batch, heads, q_len, head_dim = sizes.q_shape
    kv_heads, kv_len = sizes.k_shape[1], sizes.k_shape[2]
    numbers = 2 * batch * heads * q_len * head_dim + 2 * batch * kv_heads * kv_len * head_dim
    steps = batch * heads * -(-q_len // sizes.block_q) * -(-kv_len // sizes.block_kv)
    matrix = q_len * kv_len * _BYTES_PER_PAIR
    matrix = batch * heads * matrix if sizes.kernel in MATERIALISING else min(matrix, _NAIVE_HEAD_LIMIT)
    return SizeEstimate(
        inputs=numbers * 4 * _COPIES_OF_INPUTS,
        pairs=matrix + kv_len * _REFERENCE_BYTES_PER_KEY + q_len * kv_len * sizes.pair_bytes,
        steps=steps * _BYTES_PER_STEP,
    )


def check_sizes(sizes: Sizes, budget: int | None = None) -> SizeEstimate:
    """The estimate. Raises ProblemError, with numbers and what would do, where it is over ``budget`` bytes.

    The budget is half of the memory that is available now, where None.
    """
    needed = estimate(sizes)
    budget = available_memory() // 2 if budget is None else budget
    if needed.total <= budget:
        return needed
    q_len, kv_len, heads = sizes.q_shape[2], sizes.k_shape[2], sizes.q_shape[1]
    tiles = f"{sizes.block_q} × {sizes.block_kv} tiles"
    parts = {"S and P": needed.pairs, "q, k, v and o": needed.inputs, f"the grid steps of {tiles}": needed.steps}
    largest = max(parts, key=lambda part: parts[part])
    raise ProblemError(
        f"q-len {count_text(q_len)} by kv-len {count_text(kv_len)} with {plural(heads, 'head')} needs about "
        f"{byte_text(needed.total)}, {byte_text(parts[largest])} of it for {largest}; {byte_text(budget)} may be taken "
        f"here, half of the free memory: {_advice(sizes, budget)}"
    )


def _advice(sizes: Sizes, budget: int) -> str:
    """What would do: the largest length, of two digits, that both sequences may have; else fewer or smaller heads."""
    low, high = 0, max(sizes.q_shape[2], sizes.k_shape[2])
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if estimate(_shortened(sizes, middle)).total <= budget else (low, middle - 1)
    unit = 10 ** max(len(str(low)) - 2, 0)
    if low == 0:
        return "use fewer heads or a smaller head-dim"
    return f"use lengths up to {count_text(low // unit * unit)}, or fewer heads"


def _shortened(sizes: Sizes, length: int) -> Sizes:
    q_shape, k_shape = ((*shape[:2], min(shape[2], length), shape[3]) for shape in (sizes.q_shape, sizes.k_shape))
    return replace(sizes, q_shape=q_shape, k_shape=k_shape)


def check_positive(configuration: Configuration) -> None:
    """Raises ProblemError where a size is 0 or negative, or the seed negative."""
    for name, least in (*((size, 1) for size in _SIZES), ("seed", 0)):
        value = getattr(configuration, name)
        if value is not None and value < least:
            raise ProblemError(f"{name.replace('_', '-')} {value} is not possible: use {least} or more")


def available_memory() -> int:
    """Bytes that could be allocated now: the least of what the system and the control group leave free."""
    found = [value for value in (_meminfo(), _control_group()) if value is not None]
    if found:
        return min(found)
    with contextlib.suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    return FALLBACK_MEMORY_BYTES


def _meminfo(path: Path = Path("/proc/meminfo")) -> int | None:
    try:
        for line in path.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    return None


def _control_group(folder: Path = Path("/sys/fs/cgroup")) -> int | None:
    """What a container's memory limit (control groups version 2) leaves; None without a limit.

    Pages of files that were not used lately count as free: the kernel drops them when memory is asked for.
    """
    try:
        limit = int((folder / "memory.max").read_text())
        used = int((folder / "memory.current").read_text())
        statistics = dict(line.split() for line in (folder / "memory.stat").read_text().splitlines())
        return max(limit - used + int(statistics["inactive_file"]), 0)
    except (OSError, ValueError, KeyError):
        return None
