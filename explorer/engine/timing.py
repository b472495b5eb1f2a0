"""Wall-clock times, measured warm, every output waited for, compilation apart, with where they ran."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np

from explorer.engine import exact_bits
from explorer.engine.driver import Driver
from explorer.engine.progress import Progress, silent


@dataclass(frozen=True)
class Timing:
    """Seconds of one call: median and 95th percentile of ``count`` runs; ``compile_s``: trace and compile, once."""

    compile_s: float
    median_s: float
    p95_s: float
    count: int
    ran_on: str


@dataclass(frozen=True)
class StepCost:
    """Median seconds of one grid step with the probes and without, ``count`` runs each, taken in turn."""

    probed_s: float
    bare_s: float
    count: int
    ran_on: str

    @property
    def probes_s(self) -> float:
        """What the probes themselves cost; may be slightly negative where it is lost in the noise."""
        return self.probed_s - self.bare_s


def where_it_ran(interpreted: bool) -> str:
    """An honest label: whose speed a time is."""
    device = jax.devices()[0]
    if device.platform != "tpu":
        name = device.platform.upper()
        plain = f"XLA on {name}, no fused multiply-add" if exact_bits.in_force(os.environ) else f"XLA on {name}"
        return f"Pallas interpreter on {name}: not TPU speed" if interpreted else plain
    kind = device.device_kind.replace("TPU ", "").replace(" lite", "e")
    return f"Pallas interpreter on TPU {kind}: not TPU speed" if interpreted else f"compiled on TPU {kind}"


def measure(
    function: Callable[..., Any],
    arguments: Sequence[Any],
    repeats: int,
    *,
    progress: Progress = silent,
    text: str = "timing",
    interpreted: bool | None = None,
) -> Timing:
    """Time ``function(*arguments)`` under ``jax.jit``, once warmed up.

    ``interpreted`` says whether it runs a Pallas kernel in the interpreter (None: it does where there is no TPU).
    ``progress`` is called before every run and may raise to stop. Raises ValueError for fewer than one repeat.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, not {repeats}")
    progress(text, 0, repeats)
    began = time.perf_counter()
    compiled = jax.jit(function).lower(*arguments).compile()
    compile_s = time.perf_counter() - began
    jax.block_until_ready(compiled(*arguments))
    times = []
    for count in range(repeats):
        progress(text, count, repeats)
        began = time.perf_counter()
        jax.block_until_ready(compiled(*arguments))
        times.append(time.perf_counter() - began)
    where = where_it_ran(jax.default_backend() != "tpu" if interpreted is None else interpreted)
    return Timing(compile_s, float(np.median(times)), float(np.percentile(times, 95)), repeats, where)


def step_cost(driver: Driver, step: int, repeats: int, progress: Progress = silent) -> StepCost:
    """Time one grid step with the driver's probes and bare, in turn, each warmed up once.

    Raises ValueError for fewer than one repeat and DriveError where the step cannot be run.
    """
    if repeats < 1:
        raise ValueError(f"repeats must be at least 1, not {repeats}")
    probed, bare = [], []
    for count in range(repeats + 1):
        progress("timing a grid step", count, repeats + 1)
        probed.append(driver.time_step(step, probed=True))
        bare.append(driver.time_step(step, probed=False))
    where = where_it_ran(jax.default_backend() != "tpu")
    return StepCost(float(np.median(probed[1:])), float(np.median(bare[1:])), repeats, where)
