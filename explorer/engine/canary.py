"""Checks of the installed JAX that a user can run: what the engine leans on, and a known defect."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
from jax.experimental import pallas as pl

from explorer.engine import _jax_internals

_GRIDS = (2, 5, 3, 4)


def internals() -> list[str]:
    """What this JAX release has moved away from under the engine; empty when all is in place."""
    return _jax_internals.check()


def num_programs_seen(grids: tuple[int, ...] = _GRIDS) -> tuple[int, ...]:
    """What ``pl.num_programs(0)`` gives in one kernel function traced with several grids."""

    def body(o_ref: Any) -> None:
        o_ref[...] = jnp.full(o_ref.shape, pl.num_programs(0), jnp.int32)

    def once(grid: int) -> int:
        shape = jax.ShapeDtypeStruct((8, 128), jnp.int32)
        out_specs = pl.BlockSpec((8, 128), lambda i: (0, 0))
        return int(pl.pallas_call(body, grid=(grid,), out_specs=out_specs, out_shape=shape, interpret=True)()[0, 0])

    return tuple(once(grid) for grid in grids)


def stale_num_programs() -> str:
    """'' when ``pl.num_programs`` is right; else what came out. JAX 0.11.2 gives later traces an earlier grid."""
    seen = num_programs_seen()
    if seen == _GRIDS:
        return ""
    return f"grids {', '.join(map(str, _GRIDS))} gave {', '.join(map(str, seen))}"
