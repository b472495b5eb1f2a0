"""The installed JAX: nothing moved from under the engine, and no stale ``pl.num_programs``."""

from __future__ import annotations

import numpy as np
from jax._src.pallas import core as pallas_core

from explorer.engine import _jax_internals, canary


def test_nothing_moved():
    assert canary.internals() == []


def test_a_moved_field_is_named(monkeypatch):
    monkeypatch.setattr(_jax_internals, "_GRID_FIELDS", ("grid", "grid_of_another_name"))
    problems = canary.internals()
    assert len(problems) == 1
    assert "grid mapping has no grid_of_another_name" in problems[0]


def test_a_method_that_is_gone_is_reported_not_raised(monkeypatch):
    monkeypatch.delattr(pallas_core.BlockMapping, "compute_start_indices_interpret")
    assert "block mapping has no compute_start_indices_interpret" in canary.internals()[0]


def test_internals_that_raise_are_reported_not_raised(monkeypatch):
    monkeypatch.setattr(_jax_internals, "source_line", lambda _: 1 / 0)
    assert "ZeroDivisionError" in canary.internals()[0]


def test_one_kernel_function_sees_each_grid_that_it_is_traced_with():
    """JAX 0.11.0 and 0.11.1 give 2, 2, 2, 2 and 0.11.2 gives 2, 5, 5, 5: such releases are excluded."""
    assert canary.num_programs_seen((2, 5, 3, 4)) == (2, 5, 3, 4)
    assert canary.stale_num_programs() == ""


def test_a_stale_number_is_reported(monkeypatch):
    monkeypatch.setattr(canary, "num_programs_seen", lambda: (2, 5, 5, 5))
    assert canary.stale_num_programs() == "grids 2, 5, 3, 4 gave 2, 5, 5, 5"


def test_uninitialised_memory_is_what_the_interpreter_fills_in():
    assert np.isnan(np.asarray(_jax_internals.uninitialised((2,), np.float32))).all()
    assert np.asarray(_jax_internals.uninitialised((2,), np.int32)).tolist() == [np.iinfo(np.int32).min] * 2
