"""Steps forward, back and by jumps; probed values against NumPy; outputs as they stand."""

from __future__ import annotations

from functools import lru_cache

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from explorer.engine.bits import same_bits
from explorer.engine.capture import capture
from explorer.engine.driver import Driver
from explorer.engine.errors import DriveError


@lru_cache
def _running_sum(independent_rows: bool, rows: int = 3, columns: int = 40):
    """A grid of rows x columns steps over blocks of ones times the step's number, summed along a row in scratch."""

    def body(x_ref, o_ref, sum_ref):
        first = pl.program_id(1) == 0 if independent_rows else (pl.program_id(0) == 0) & (pl.program_id(1) == 0)

        @pl.when(first)
        def _():
            sum_ref[...] = jnp.zeros_like(sum_ref)

        sum_ref[...] += x_ref[...]
        o_ref[...] = sum_ref[...]

    x = np.repeat(np.arange(rows * columns, dtype=np.float32), 8)[:, None] * np.ones((1, 128), np.float32)
    call = pl.pallas_call(
        body,
        grid=(rows, columns),
        in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i * columns + j, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, j: (i, 0)),
        out_shape=jax.ShapeDtypeStruct((8 * rows, 128), jnp.float32),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
    )
    return capture(call, x)


def _sum_after(step: int, first: int) -> float:
    return float(np.arange(first, step + 1).sum())


@pytest.mark.parametrize("step", [0, 39, 40, 65, 119])
def test_a_jump_gives_what_stepping_gives(step):
    program = _running_sum(independent_rows=True)
    record = Driver(program).step(step)
    assert record.scratch_after["sum_ref"][0, 0] == _sum_after(step, step // 40 * 40)
    assert record.outputs["o_ref"][7, 127] == record.scratch_after["sum_ref"][0, 0]
    assert record.blocks["x_ref"][0, 0] == step
    assert record.coords == (step // 40, step % 40)


def test_forward_and_back(monkeypatch):
    driver = Driver(_running_sum(independent_rows=False))
    for step in (3, 4, 100, 99, 98, 4, 0, 119):
        record = driver.step(step)
        assert record.scratch_after["sum_ref"][0, 0] == _sum_after(step, 0)
        assert step == 0 or record.scratch_before["sum_ref"][0, 0] == _sum_after(step - 1, 0)


def _count_steps(driver: Driver, monkeypatch) -> list[int]:
    counted: list[int] = []
    run = driver._runner.run

    def counting(carry, first, count=1, probed=()):
        counted.append(count)
        return run(carry, first, count, probed)

    monkeypatch.setattr(driver._runner, "run", counting)
    return counted


def test_a_jump_begins_at_a_row_that_depends_on_nothing(monkeypatch):
    driver = Driver(_running_sum(independent_rows=True))
    counted = _count_steps(driver, monkeypatch)
    driver.step(85)
    assert sum(counted) == 3 + 5 + 2, "three tries of the restart, steps 80 to 84, the step itself bare and probed"


def test_a_jump_begins_at_step_0_where_rows_depend_on_each_other(monkeypatch):
    driver = Driver(_running_sum(independent_rows=False))
    counted = _count_steps(driver, monkeypatch)
    driver.step(85)
    assert sum(counted) >= 85


def test_going_back_runs_no_more_than_a_chunk(monkeypatch):
    driver = Driver(_running_sum(independent_rows=False))
    driver.step(100)
    counted = _count_steps(driver, monkeypatch)
    for step in (99, 57, 21):
        counted.clear()
        driver.step(step)
        assert sum(counted) <= driver.chunk + 1 + 3


def test_keyframes_stay_within_their_budget():
    each = 2 * 8 * 128 * 4
    driver = Driver(_running_sum(independent_rows=False), chunk=2, keyframe_bytes=10 * each)
    assert driver.step(119).scratch_after["sum_ref"][0, 0] == _sum_after(119, 0)
    assert 2 * each < driver._keyframes.nbytes <= 10 * each
    assert driver.step(60).scratch_after["sum_ref"][0, 0] == _sum_after(60, 0)


def test_outputs_are_nan_where_nothing_ran_yet():
    driver = Driver(_running_sum(independent_rows=True))
    assert np.isnan(driver.outputs_so_far()["o_ref"]).all()
    driver.step(85)
    output = driver.outputs_so_far()["o_ref"]
    assert np.isnan(output[:16]).all(), "the jump began at row 2: rows 0 and 1 never ran"
    assert (output[16:] == _sum_after(85, 80)).all()
    driver.step(41)
    output = driver.outputs_so_far()["o_ref"]
    assert np.isnan(output[16:]).all(), "back in row 1, row 2 is to come"
    assert (output[8:16] == _sum_after(41, 40)).all()


def test_outputs_of_a_range_are_run_where_they_are_missing():
    driver = Driver(_running_sum(independent_rows=True))
    driver.step(85)
    output = driver.outputs_so_far(0, 80)["o_ref"]
    assert (output[:8] == _sum_after(39, 0)).all()
    assert (output[8:16] == _sum_after(79, 40)).all()
    assert np.isnan(output[16:]).all()
    assert not output.flags.writeable
    output = driver.outputs_so_far(0, 40)["o_ref"]
    assert np.isnan(output[8:]).all()


def test_outputs_of_a_kernel_that_comes_back(zoo):
    case = zoo["comes_back"]()
    x = case.arguments[0]
    driver = Driver(case.capture())
    driver.step(9)
    output = driver.outputs_so_far()["o_ref"]
    twice = np.float32(0.5) * x[0] + x[1]
    np.testing.assert_array_equal(output[16:], twice[16:])
    np.testing.assert_array_equal(output[:16], (np.float32(0.5) * twice + x[2])[:16])
    driver.step(5)
    output = driver.outputs_so_far()["o_ref"]
    np.testing.assert_array_equal(output[:16], twice[:16])
    np.testing.assert_array_equal(output[16:], x[0][16:])


def test_row_blocks(zoo):
    driver = Driver(zoo["scratch_matmul"]().capture())
    assert [driver.row_block_of(step) for step in (0, 2, 3, 5)] == [(0, 3), (0, 3), (3, 6), (3, 6)]


def test_probed_values_against_numpy(zoo):
    case = zoo["scratch_matmul"]()
    x, y = case.arguments
    program = case.capture()
    record = Driver(program).step(4)
    in_scope = [e.index for e in program.equations if e.scope == "score/S"]
    expected = 2 * x[8:16, 128:256].astype(np.float64) @ y[0, 8:16].T
    np.testing.assert_allclose(record.values[in_scope[-1]], expected, rtol=1e-4, atol=1e-4)
    skipped = [e.index for e in program.equations if e.scope in ("zero", "out") and e.is_float]
    assert skipped
    assert all(record.executed[index] is False and index not in record.values for index in skipped)
    assert record.executed[in_scope[-1]] is True


def test_probed_loops_have_a_trip_axis(zoo):
    case = zoo["loops"]()
    x = case.arguments[0][8:16].astype(np.float64)
    program = case.capture()
    record = Driver(program).step(1)
    inner = [e for e in program.equations if e.path == ("scan", "scan") and e.is_float and e.shape == (8, 128)]
    value, expected = x, np.empty((3, 2, 8, 128))
    for i in range(3):
        for j in range(2):
            value = expected[i, j] = value * 0.5 + x * (j + 1.0)
        value = value - i
    np.testing.assert_allclose(record.values[inner[-1].index], expected, rtol=1e-5)
    while value.max() < 50.0:
        value = value * 1.5
    last = [e for e in program.equations if e.path == ("while",) and e.is_float and e.shape == (8, 128)]
    np.testing.assert_allclose(record.values[last[-1].index], value, rtol=1e-5)


def test_a_loop_that_never_runs_is_not_executed():
    def body(n_ref, o_ref):
        _, value = jax.lax.while_loop(lambda c: c[0] < n_ref[0, 0], lambda c: (c[0] + 1, c[1] * 2.0), (0, o_ref[...]))
        o_ref[...] = value

    shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    call = pl.pallas_call(body, in_specs=[pl.BlockSpec(memory_space=pltpu.SMEM)], out_shape=shape)
    program = capture(call, np.zeros((1, 1), np.int32))
    record = Driver(program).step(0)
    doubled = next(e.index for e in program.equations if e.primitive == "mul")
    assert record.executed[doubled] is False


def test_fewer_probes_make_a_smaller_program(zoo):
    program = zoo["scratch_matmul"]().capture()
    product = next(e.index for e in program.equations if e.primitive == "dot_general")
    everything, one, nothing = Driver(program), Driver(program, [product]), Driver(program, "none")
    assert set(one.step(0).values) == {product}
    assert same_bits(one.step(3).values[product], everything.step(3).values[product])
    assert nothing.step(0).values == {}
    assert nothing.step(0).seconds == 0.0
    assert len(everything.probed) > len(one.probed) == 1 > len(nothing.probed)
    sizes = {probed: len(compiled.as_text()) for (_, probed), compiled in program.compiled.items()}
    indices = tuple(equation.index for equation in everything.probed)
    assert sizes[product,] < 0.9 * sizes[indices]
    assert len(sizes) == 3, "one compilation each for no probe, one and all, whatever the steps and drivers"


def test_integers_and_truth_values_can_be_probed(zoo):
    program = zoo["half_precision"]().capture()
    wanted = [e.index for e in program.equations if e.dtype == np.bool_ and e.shape]
    record = Driver(program, wanted).step(0)
    x = np.asarray(record.blocks["x_ref"], np.float32)
    assert record.values[wanted[0]].dtype == np.bool_
    np.testing.assert_array_equal(record.values[wanted[0]], x > 0)


def test_stop_leaves_out_later_equations(zoo):
    program = zoo["scratch_matmul"]().capture()
    product = next(e.index for e in program.equations if e.primitive == "dot_general")
    record = Driver(program).step(1, stop=product)
    assert max(record.values) == product
    assert max(record.executed) == product


def test_wrong_requests_are_refused_in_plain_words(zoo):
    program = zoo["scratch_matmul"]().capture()
    with pytest.raises(DriveError, match="has grid steps 0 to 5, not 6"):
        Driver(program, "none").step(6)
    with pytest.raises(DriveError, match=r"has no equations \[999\]"):
        Driver(program, [999])
    with pytest.raises(DriveError, match=r"has no equations \['some'\]"):
        Driver(program, "some")


class _Stop(BaseException):
    pass


def test_progress_can_stop_a_jump_and_the_driver_stays_usable():
    driver = Driver(_running_sum(independent_rows=False))
    seen = []

    def stop_later(text: str, done: int, total: int) -> None:
        seen.append((done, total))
        if done >= 24:
            raise _Stop

    with pytest.raises(_Stop):
        driver.step(100, stop_later)
    assert seen[0] == (0, 100)
    assert driver.step(50).scratch_after["sum_ref"][0, 0] == _sum_after(50, 0)


def test_a_kernel_that_raises_while_it_runs():
    def complain(_):
        raise ValueError("tile is upside down")

    def body(x_ref, o_ref):
        o_ref[...] = jax.pure_callback(complain, jax.ShapeDtypeStruct((8, 128), jnp.float32), x_ref[...])

    shape = jax.ShapeDtypeStruct((8, 128), jnp.float32)
    program = capture(pl.pallas_call(body, out_shape=shape), np.ones((8, 128), np.float32))
    with pytest.raises(DriveError, match=r"raises in grid step 0: .*tile is upside down"):
        Driver(program).step(0)
