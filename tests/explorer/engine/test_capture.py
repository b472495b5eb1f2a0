"""What a captured kernel says of itself, and which functions are refused, in which words."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from explorer.engine.capture import CaptureError, capture

F32 = jnp.float32
X = np.ones((16, 128), np.float32)


def _call(body, *, index_map=lambda i: (i, 0), grid=(2,), **options):
    spec = pl.BlockSpec((8, 128), index_map)
    out = pl.BlockSpec((8, 128), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct((16, 128), F32)
    return pl.pallas_call(body, grid=grid, in_specs=[spec], out_specs=out, out_shape=shape, **options)


def _double(x_ref, o_ref):
    o_ref[...] = x_ref[...] * 2.0


def test_operands_scratch_and_grid(zoo):
    program = zoo["scratch_matmul"]().capture()
    assert (program.name, program.grid, program.steps) == ("scratch_matmul", (2, 3), 6)
    assert [(o.name, o.direction, o.shape, o.block_shape, o.ref_shape, o.memory) for o in program.operands] == [
        ("x_ref", "in", (16, 384), (8, 128), (8, 128), "hbm+vmem"),
        ("y_ref", "in", (1, 24, 128), (1, 8, 128), (8, 128), "hbm+vmem"),
        ("o_ref", "out", (16, 8), (8, 8), (8, 8), "hbm+vmem"),
    ]
    assert program.operand("y_ref").squeezed == (0,)
    assert [(s.name, s.shape, s.dtype, s.memory) for s in program.scratch] == [("acc_ref", (8, 8), np.float32, "vmem")]
    assert program.coords(4) == (1, 1)


def test_block_indices_of_all_steps(zoo):
    program = zoo["scratch_matmul"]().capture()
    assert program.block_indices("x_ref").tolist() == [[0, 0], [0, 1], [0, 2], [1, 0], [1, 1], [1, 2]]
    assert program.block_indices("o_ref").tolist() == [[0, 0]] * 3 + [[1, 0]] * 3
    with pytest.raises(KeyError, match="no operand z_ref; it has x_ref, y_ref, o_ref"):
        program.block_indices("z_ref")


def test_block_indices_from_a_prefetched_table(zoo):
    program = zoo["prefetched"]().capture()
    assert program.prefetch == ("table_ref",)
    assert program.block_indices("x_ref")[:, 0].tolist() == [2, 2, 0, 1, 2]


def test_equations_carry_line_scope_and_path(zoo):
    program = zoo["scratch_matmul"]().capture()
    product = next(e for e in program.equations if e.primitive == "dot_general")
    assert product.scope == "score/S"
    assert product.path == ()
    assert product.file.endswith("conftest.py")
    assert product.function.endswith("body")
    last_in_scope = [e for e in program.equations if e.scope == "score/S"][-1]
    assert last_in_scope.primitive == "mul"
    assert {e.path for e in program.equations if e.scope == "out"} == {("cond[1]",)}
    assert [e.index for e in program.equations] == list(range(len(program.equations)))


def test_equations_in_loops_say_how_often_they_run(zoo):
    program = zoo["loops"]().capture()
    assert {e.trips for e in program.equations if e.path == ("scan", "scan")} == {(3, 2)}
    assert all(e.last_trip_only for e in program.equations if e.path == ("while",))


def test_found_under_jit_vmap_and_custom_vjp(zoo):
    assert zoo["batched"]().capture().grid == (3, 2)

    @jax.custom_vjp
    def function(x):
        return jax.jit(_call(_double))(x)

    function.defvjp(lambda x: (function(x), None), lambda _, g: (g,))
    assert capture(lambda x: function(x) + 1, X).grid == (2,)


def test_several_kernels_are_chosen_by_number():
    def function(x):
        return _call(_double, name="second")(_call(_double, name="first")(x))

    with pytest.raises(CaptureError, match="calls 2 Pallas kernels: choose one with which=0 to 1"):
        capture(function, X)
    second = capture(function, X, which=1)
    assert second.name == "second"
    np.testing.assert_array_equal(np.asarray(second.input_values[0]), 2.0)
    with pytest.raises(CaptureError, match="kernels, 0 to 1: which=2 is none"):
        capture(function, X, which=2)


def _raise(*_):
    raise RuntimeError("no such tile\nand more")


def _writes_its_input(x_ref, o_ref):
    x_ref[...] = x_ref[...] + 1.0
    o_ref[...] = x_ref[...]


def _in_a_loop(x):
    return jax.lax.fori_loop(0, 2, lambda _, value: _call(_double)(value), x)


def _bounded_slice(x):
    spec = pl.BlockSpec((pl.BoundedSlice(8), 128), lambda i: (pl.ds(i * 8, 8), 0))
    out = pl.BlockSpec((8, 128), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct((16, 128), F32)
    return pl.pallas_call(_double, grid=(2,), in_specs=[spec], out_specs=out, out_shape=shape)(x)


def _alias_read_again(x):
    return _call(_double, index_map=lambda i: (1 - i, 0), input_output_aliases={0: 0})(x)


def _no_steps(x):
    return pl.pallas_call(_double, grid=(x.shape[0] - 16,), out_shape=jax.ShapeDtypeStruct((16, 128), F32))(x)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: x + 1, "calls no Pallas kernel"),
        (_call(_raise), "raises while it is traced: RuntimeError: no such tile$"),
        (_call(_double, index_map=_raise), "raises while it is traced: RuntimeError: no such tile$"),
        (_call(_double, index_map=lambda i: (i + 1, 0)), r"step 1 the index map of x_ref names block \(2, 0\), out"),
        (_call(_double, index_map=lambda i: (-i, 0)), r"step 1 the index map of x_ref names block \(-1, 0\), out"),
        (_call(_writes_its_input), "writes to its input x_ref"),
        (_in_a_loop, "sits inside a scan: call it outside"),
        (_bounded_slice, "x_ref has a block dimension of kind BoundedSlice"),
        (_alias_read_again, "output o_ref shares memory with input x_ref"),
        (_no_steps, "axis of length 0"),
    ],
)  # fmt: skip
def test_refused_in_plain_words(function, words):
    with pytest.raises(CaptureError, match=words):
        capture(function, X)


def test_semaphores_are_kept_out_of_the_carry():
    def body(x_ref, o_ref, semaphore):
        copy = pltpu.make_async_copy(x_ref, o_ref, semaphore)
        copy.start()
        copy.wait()

    program = capture(_call(body, scratch_shapes=[pltpu.SemaphoreType.DMA]), X)
    assert [(s.memory, s.carried) for s in program.scratch] == [("semaphore", False)]
