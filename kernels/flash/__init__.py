"""Flash attention for TPU in Pallas, in five named stages. ``FLASH`` is loaded, and JAX with it, when asked for."""

from __future__ import annotations

from typing import Any


def __getattr__(name: str) -> Any:
    if name == "FLASH":
        from kernels.flash.attention import FLASH

        return FLASH
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
