"""Facts of the TPU chips, per core: from JAX's own table, and the compiler's default limit on VMEM as measured.

Two sizes of VMEM matter. The physical one is a fact of the chip. The scoped limit is what the compiler lets one kernel
allocate unless the kernel asks for more (``vmem_limit_bytes``); JAX does not report it, so it was read from the
compiler's own refusals.
"""

from __future__ import annotations

import functools

import jax
from jax.experimental.pallas import tpu as pltpu

from explorer.link.messages import ChipInfo

_MIB = 1 << 20

_SCOPED_LIMIT_MIB = {"v4": 16, "v5e": 16, "v5p": 16, "v6e": 32, "7x": 32}
"""In MiB. A kernel that takes just this much compiled; with 128 KiB more it was refused, naming this limit.

On v4 it is all of the physical VMEM, and the refusal is of that kind.
"""
_SCOPED_LIMIT_SOURCE = "the TPU compiler's default, read from its refusals: libtpu 0.0.42.1 and 0.0.50.1, Dec 2026"


class UnknownChipError(ValueError):
    """No chip of this name; the message lists those there are."""


def names() -> tuple[str, ...]:
    """The chips that can be asked for, oldest first."""
    return tuple(_SCOPED_LIMIT_MIB)


@functools.cache
def chip(name: str) -> ChipInfo:
    """Facts of one core of a chip. On v4 and v5p a chip has two such cores that may act as one (megacore).

    Source: ``pltpu.get_tpu_info_for_chip``, and for the scoped limit as ``scoped_limit_source`` says.
    ``mxu_count`` is 0 on JAX 0.10.0, which does not report it.

    Raises:
        UnknownChipError: for a name that is not in ``names()``.
    """
    if name not in _SCOPED_LIMIT_MIB:
        raise UnknownChipError(f"there is no chip {name!r}; known are {', '.join(names())}")
    info = pltpu.get_tpu_info_for_chip(pltpu.ChipVersion(name), 1)
    return ChipInfo(
        name=name,
        vmem_bytes=info.vmem_capacity_bytes,
        scoped_limit_bytes=_SCOPED_LIMIT_MIB[name] * _MIB,
        scoped_limit_source=_SCOPED_LIMIT_SOURCE,
        smem_bytes=info.smem_capacity_bytes,
        hbm_bytes=info.hbm_capacity_bytes,
        hbm_bytes_per_second=float(info.mem_bw_bytes_per_second),
        bf16_flops_per_second=float(info.bf16_ops_per_second),
        mxu_count=getattr(info, "num_mxus", 0),
        mxu_size=info.mxu_column_size,
        source=f"pltpu.get_tpu_info_for_chip of JAX {jax.__version__}, per core",
    )
