"""A zoo of small Pallas kernels, each with one habit that a driver must get right."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from explorer.engine.capture import Program, capture

F32 = jnp.float32


class Case(NamedTuple):
    function: Callable[..., Any]
    arguments: tuple[Any, ...]

    def capture(self) -> Program:
        return capture(self.function, *self.arguments)


def _normal(*shape: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng([seed, *shape]).standard_normal(shape).astype(np.float32)


def _shape(*shape: int, dtype: Any = F32) -> jax.ShapeDtypeStruct:
    return jax.ShapeDtypeStruct(shape, dtype)


def _by_rows(body: Callable[..., None], steps: Any, rows: int, **options: Any) -> Callable[..., Any]:
    """A call over blocks of 8 rows of one array of ``rows`` x 128, in and out."""
    spec = pl.BlockSpec((8, 128), lambda i: (i, 0))
    return pl.pallas_call(body, grid=(steps,), in_specs=[spec], out_specs=spec, out_shape=_shape(rows, 128), **options)


def scratch_matmul() -> Case:
    """Accumulates in scratch; names its stages; y has a squeezed dimension."""

    def body(x_ref, y_ref, o_ref, acc_ref):
        step = pl.program_id(1)

        @pl.when(step == 0)
        def _():
            with jax.named_scope("zero"):
                acc_ref[...] = jnp.zeros_like(acc_ref)

        with jax.named_scope("score"), jax.named_scope("S"):
            product = jnp.dot(x_ref[...], y_ref[...].T, preferred_element_type=F32) * 2.0
        acc_ref[...] += product

        @pl.when(step == pl.num_programs(1) - 1)
        def _():
            with jax.named_scope("out"):
                o_ref[...] = acc_ref[...] * 3.0

    call = pl.pallas_call(
        body,
        grid=(2, 3),
        in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j)), pl.BlockSpec((None, 8, 128), lambda i, j: (0, j, 0))],
        out_specs=pl.BlockSpec((8, 8), lambda i, j: (i, 0)),
        out_shape=_shape(16, 8),
        scratch_shapes=[pltpu.VMEM((8, 8), F32)],
        name="scratch_matmul",
    )
    return Case(call, (_normal(16, 384), _normal(1, 24, 128)))


def output_matmul() -> Case:
    """Accumulates in its output block, visited again at each of four steps; under jit, with work before and after."""

    def body(x_ref, y_ref, o_ref):
        @pl.when(pl.program_id(2) == 0)
        def _():
            o_ref[...] = jnp.zeros_like(o_ref)

        o_ref[...] += jnp.dot(x_ref[...], y_ref[...], preferred_element_type=F32)

    call = pl.pallas_call(
        body,
        grid=(2, 3, 4),
        in_specs=[pl.BlockSpec((16, 128), lambda i, j, k: (i, k)), pl.BlockSpec((128, 128), lambda i, j, k: (k, j))],
        out_specs=pl.BlockSpec((16, 128), lambda i, j, k: (i, j)),
        out_shape=_shape(32, 384),
    )
    return Case(lambda x, y: jax.jit(call)(x * 0.3, y) + 1.0, (_normal(32, 512), _normal(512, 384)))


def loops() -> Case:
    """A counted loop in a counted loop, then one that ends by its data."""

    def body(x_ref, o_ref):
        x = x_ref[...]

        def inner(j, value):
            return value * 0.5 + x * (j + 1.0)

        def outer(i, value):
            return jax.lax.fori_loop(0, 2, inner, value) - i

        value = jax.lax.fori_loop(0, 3, outer, x)
        _, value = jax.lax.while_loop(lambda c: jnp.max(c[1]) < 50.0, lambda c: (c[0] + 1, c[1] * 1.5), (0, value))
        o_ref[...] = value

    return Case(_by_rows(body, 3, 24), (np.abs(_normal(24, 128)) + 1.0,))


def partial_blocks() -> Case:
    """Blocks that stick out of the array on both sides; the padding is read."""

    def body(x_ref, o_ref, total_ref):
        o_ref[...] = jnp.exp(x_ref[...]) - 0.25
        total_ref[...] = jnp.sum(x_ref[...], axis=1, keepdims=True)

    call = pl.pallas_call(
        body,
        grid=(3, 2),
        in_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j))],
        out_specs=[pl.BlockSpec((8, 128), lambda i, j: (i, j)), pl.BlockSpec((8, 1), lambda i, j: (i, j))],
        out_shape=[_shape(20, 200), _shape(20, 2)],
    )
    return Case(call, (_normal(20, 200),))


def prefetched() -> Case:
    """A scalar-prefetch table names the block to read and is read in the body; steps may be skipped."""

    def body(table_ref, x_ref, o_ref, last_ref):
        step = pl.program_id(0)
        with jax.named_scope("scale"):
            o_ref[...] = x_ref[...] * table_ref[step].astype(F32)

        @pl.when(table_ref[step] > 1)
        def _():
            last_ref[...] = x_ref[...] + 1.0

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(5,),
        in_specs=[pl.BlockSpec((None, 8, 128), lambda i, table: (table[i], 0, 0))],
        out_specs=[pl.BlockSpec((8, 128), lambda i, _: (i, 0)), pl.BlockSpec((8, 128), lambda i, _: (0, 0))],
    )
    call = pl.pallas_call(body, grid_spec=spec, out_shape=[_shape(40, 128), _shape(8, 128)])
    return Case(call, (jnp.array([2, 2, 0, 1, 2], jnp.int32), _normal(3, 8, 128)))


def comes_back() -> Case:
    """Leaves its output blocks and adds to them later (the interpreter allows it, a TPU does not)."""

    def body(x_ref, o_ref):
        first = pl.program_id(0) == 0
        o_ref[...] = jnp.where(first, x_ref[...], o_ref[...] * 0.5 + x_ref[...])

    call = pl.pallas_call(
        body,
        grid=(3, 4),
        in_specs=[pl.BlockSpec((None, 8, 128), lambda k, i: (k, i, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda k, i: (i, 0)),
        out_shape=_shape(32, 128),
    )
    return Case(call, (_normal(3, 32, 128),))


def memory_spaces() -> Case:
    """A scalar in SMEM, a whole array left in any memory, a row vector, integer SMEM scratch that counts."""

    def body(scale_ref, whole_ref, row_ref, o_ref, count_ref):
        @pl.when(pl.program_id(0) == 0)
        def _():
            count_ref[0] = 0

        count_ref[0] += 1
        o_ref[...] = whole_ref[...] * scale_ref[0, 0] + row_ref[...][None, :] + count_ref[0].astype(F32)

    call = pl.pallas_call(
        body,
        grid=(4,),
        in_specs=[
            pl.BlockSpec(memory_space=pltpu.SMEM),
            pl.BlockSpec(memory_space=pl.ANY),
            pl.BlockSpec((None, 128), lambda i: (i, 0)),
        ],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=_shape(32, 128),
        scratch_shapes=[pltpu.SMEM((1,), jnp.int32)],
    )
    return Case(call, (np.full((1, 1), 1.75, np.float32), _normal(8, 128), _normal(4, 128)))


def aliased() -> Case:
    """Writes into its input's memory, half of the blocks only in part."""

    def body(x_ref, o_ref):
        @pl.when(pl.program_id(0) % 2 == 0)
        def _():
            o_ref[0:4, :] = x_ref[0:4, :] * -1.0

    return Case(_by_rows(body, 3, 24, input_output_aliases={0: 0}), (_normal(24, 128),))


def batched() -> Case:
    """``jax.vmap`` puts an axis before the grid that ``pl.program_id`` does not count."""

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] * (pl.program_id(0) + 1).astype(F32)

    return Case(jax.vmap(_by_rows(body, 2, 16)), (_normal(3, 16, 128),))


def half_precision() -> Case:
    """bfloat16 in and out, a choice between three branches, a comparison, a call inside the body."""

    def body(x_ref, o_ref):
        x = x_ref[...].astype(F32)
        kept = jnp.where(x > 0, x, x * 0.1)
        o_ref[...] = jax.lax.switch(
            pl.program_id(0), [lambda v: v + 1.0, lambda v: v * v, lambda v: jax.nn.relu(v) - 1.0], kept
        ).astype(jnp.bfloat16)

    spec = pl.BlockSpec((16, 128), lambda i: (i, 0))
    call = pl.pallas_call(
        body, grid=(3,), in_specs=[spec], out_specs=spec, out_shape=_shape(48, 128, dtype=jnp.bfloat16)
    )
    return Case(call, (jnp.asarray(_normal(48, 128), jnp.bfloat16),))


def no_grid() -> Case:
    """One step, whole arrays."""

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] + 1.0

    return Case(pl.pallas_call(body, out_shape=_shape(8, 128)), (_normal(8, 128),))


def dynamic_grid() -> Case:
    """The grid's length is a value."""

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...] * pl.num_programs(0).astype(F32)

    return Case(lambda x, length: _by_rows(body, length, 32)(x), (_normal(32, 128), jnp.int32(3)))


def scoped() -> Case:
    """Allocates memory for the length of a step."""

    def body(x_ref, o_ref):
        def with_room(room):
            room[...] = x_ref[...] * 2.0
            o_ref[...] = room[...] + 1.0

        pl.run_scoped(with_room, pltpu.VMEM((8, 128), F32))

    return Case(_by_rows(body, 2, 16), (_normal(16, 128),))


def overlapping() -> Case:
    """Reads windows by their first element (``pl.Element``)."""

    def body(x_ref, o_ref):
        o_ref[...] = x_ref[0:8, :] + x_ref[8:16, :]

    call = pl.pallas_call(
        body,
        grid=(3,),
        in_specs=[pl.BlockSpec((pl.Element(16), 128), lambda i: (i * 8, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i: (i, 0)),
        out_shape=_shape(24, 128),
    )
    return Case(call, (_normal(32, 128),))


ZOO = {
    build.__name__: build
    for build in (
        scratch_matmul, output_matmul, loops, partial_blocks, prefetched, comes_back, memory_spaces, aliased, batched,
        half_precision, no_grid, dynamic_grid, scoped, overlapping,
    )
}  # fmt: skip


@pytest.fixture(params=list(ZOO))
def case(request: pytest.FixtureRequest) -> Case:
    """Every kernel of the zoo in turn."""
    return ZOO[request.param]()


@pytest.fixture(scope="session")
def zoo() -> dict[str, Callable[[], Case]]:
    """The kernels by name."""
    return ZOO
