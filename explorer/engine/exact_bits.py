"""Keeps XLA's CPU compiler from contracting a multiply and an add into one instruction.

Contracted, the product is not rounded; whether XLA can do so depends on what it fuses, and so on what else a program
computes. Probes, ``jax.jit`` around a kernel or a constant table then change the last bit of a result. Without
contraction, the plain call, the driven run and the probed step give the same bits however they are compiled.
"""

from __future__ import annotations

import platform
from collections.abc import Mapping, MutableMapping

NO_CONTRACTION = "--xla_cpu_max_isa=AVX"
"""AVX is the newest x86 instruction set without fused multiply-add."""


def ask_for_exact_bits(environment: MutableMapping[str, str], machine: str | None = None) -> bool:
    """Set ``XLA_FLAGS`` for a process that has not imported JAX yet; True where it was set.

    Left alone on machines other than x86 and where the user has chosen an instruction set.
    """
    flags = environment.get("XLA_FLAGS", "")
    if (machine or platform.machine()).lower() not in ("x86_64", "amd64") or "xla_cpu_max_isa" in flags:
        return False
    environment["XLA_FLAGS"] = f"{flags} {NO_CONTRACTION}".strip()
    return True


def in_force(environment: Mapping[str, str]) -> bool:
    """Whether a process of this environment compiles without contraction."""
    return NO_CONTRACTION in environment.get("XLA_FLAGS", "")
