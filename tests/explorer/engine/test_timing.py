"""Times are medians of warm runs with their place named; reporting progress can stop them."""

from __future__ import annotations

import jax.numpy as jnp
import numpy as np
import pytest

from explorer.engine import timing
from explorer.engine.driver import Driver


def test_measure_leaves_compilation_out():
    measured = timing.measure(lambda x: jnp.tanh(x @ x), (np.ones((64, 64), np.float32),), 7, interpreted=False)
    assert measured.count == 7
    assert 0 < measured.median_s <= measured.p95_s < measured.compile_s
    assert measured.ran_on == "XLA on CPU"


def test_where_it_ran_is_honest_about_the_interpreter():
    assert timing.where_it_ran(interpreted=True) == "Pallas interpreter on CPU: not TPU speed"


def test_one_repeat_at_least():
    with pytest.raises(ValueError, match="at least 1, not 0"):
        timing.measure(jnp.sin, (1.0,), 0)


def test_progress_is_called_before_every_run_and_may_stop_it():
    seen = []

    def stop_at_three(text, done, total):
        seen.append((text, done, total))
        if done == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        timing.measure(jnp.sin, (1.0,), 5, progress=stop_at_three, text="timing sin")
    assert seen[-1] == ("timing sin", 3, 5)


def test_step_cost_compares_with_the_bare_step(zoo):
    driver = Driver(zoo["scratch_matmul"]().capture())
    cost = timing.step_cost(driver, 2, 5)
    assert cost.count == 5
    assert 0 < cost.bare_s < cost.probed_s
    assert cost.probes_s == cost.probed_s - cost.bare_s
    assert cost.ran_on == "Pallas interpreter on CPU: not TPU speed"
