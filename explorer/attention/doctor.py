"""What the engine's side can say about its own health: releases, devices, canaries, kernels."""

from __future__ import annotations

from collections.abc import Callable

import jax
import jaxlib
import numpy as np

from explorer.engine import canary
from explorer.link.messages import Check, Diagnose, Diagnosis
from explorer.tpu import chips
from kernels import catalog, reference
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


def diagnose(request: Diagnose) -> Diagnosis:
    """Run every check; one that raises is reported as failed with its message, the others still run."""
    checks = {
        "jax": _versions,
        "devices": _devices,
        "pl.num_programs": _num_programs,
        "JAX internals": _internals,
        "flash against float64": _flash,
        "kernels": _kernels,
        "chips": lambda: (True, ", ".join(chips.names())),
    }
    return Diagnosis(id=request.id, checks=tuple(_run(name, check) for name, check in checks.items()))


def _run(name: str, check: Callable[[], tuple[bool, str]]) -> Check:
    try:
        ok, detail = check()
    except Exception as error:
        ok, detail = False, f"{type(error).__name__}: {error}"
    return Check(name=name, ok=ok, detail=detail)


def _versions() -> tuple[bool, str]:
    return True, f"jax {jax.__version__}, jaxlib {jaxlib.__version__}, numpy {np.__version__}"


def _devices() -> tuple[bool, str]:
    devices = jax.devices()
    return True, f"{len(devices)} × {devices[0].device_kind} ({jax.default_backend()})"


def _num_programs() -> tuple[bool, str]:
    stale = canary.stale_num_programs()
    return not stale, stale or "right for a kernel traced with several grids"


def _internals() -> tuple[bool, str]:
    problems = canary.internals()
    return not problems, "; ".join(problems) or "every name that the engine leans on is there"


def _flash() -> tuple[bool, str]:
    problem = AttentionProblem(q_len=24, kv_len=40, head_dim=8, causal=True, alignment="bottom-right")
    rng = np.random.default_rng(0)
    q, k, v = (rng.standard_normal((1, 1, n, 8)).astype(np.float32) for n in (24, 40, 40))
    result = catalog.get("flash").build(problem, BlockSizes(8, 16))(q, k, v)
    error = float(np.abs(np.asarray(result.o) - reference.oracle(problem, q, k, v).o).max())
    return error < 1e-5, f"largest error {error:.1e} on a small causal problem"


def _kernels() -> tuple[bool, str]:
    registry = catalog.registry()
    return not registry.problems, "; ".join([", ".join(registry.kernels), *registry.problems])
