"""Memory of the process, of the device, and of a program's VMEM buffers."""

from __future__ import annotations

import resource
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import jax
import numpy as np

from explorer.engine.pipeline import padded_bytes
from explorer.engine.program import Program

_STATUS = Path("/proc/self/status")


@dataclass(frozen=True)
class VmemBuffer:
    """Something that a captured kernel holds in VMEM. ``kind``: block or scratch. Bytes count all ``slots``.

    bytes: logical. bytes_padded: as laid out in tiles (see ``pipeline.padded_bytes``).
    """

    name: str
    kind: Literal["block", "scratch"]
    shape: tuple[int, ...]
    dtype: Any
    slots: int
    bytes: int
    bytes_padded: int


def vmem_buffers(program: Program) -> list[VmemBuffer]:
    """Pipelined blocks (two slots each, unless the kernel asks for another number) and VMEM scratch, in order.

    Temporaries that the compiler makes are not in it: the sum is a lower bound.
    """
    blocks = [
        _buffer(item.name, "block", item.block_shape, item.dtype, item.buffers)
        for item in program.operands
        if item.pipelined
    ]
    scratch = [
        _buffer(item.name, "scratch", item.shape, item.dtype, 1) for item in program.scratch if item.memory == "vmem"
    ]
    return blocks + scratch


def _buffer(name: str, kind: Literal["block", "scratch"], shape: tuple[int, ...], dtype: Any, slots: int) -> VmemBuffer:
    logical = int(np.prod(shape, dtype=np.int64)) * np.dtype(dtype).itemsize
    return VmemBuffer(name, kind, shape, dtype, slots, slots * logical, slots * padded_bytes(shape, dtype))


def process_rss() -> int:
    """Resident bytes of this process now; where the system does not say, the most it has been."""
    if _STATUS.exists():
        for line in _STATUS.read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024


def device_bytes() -> int | None:
    """Bytes in use on the first device, None where its backend does not report them (the CPU's does not)."""
    statistics = jax.devices()[0].memory_stats()
    return None if not statistics else statistics.get("bytes_in_use")
