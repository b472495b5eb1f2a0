"""Transfers and buffer slots: by hand for small grids, and against what JAX's own TPU interpreter copies."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax._src.pallas.mosaic.interpret import interpret_pallas_call
from jax.experimental import pallas as pl
from jax.experimental.pallas import tpu as pltpu

from explorer.engine.capture import capture
from explorer.engine.pipeline import Pipeline, padded_bytes, tile_shape
from kernels import catalog
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


@pytest.mark.parametrize(
    ("shape", "dtype", "expected"),
    [
        ((8, 128), np.float32, 8 * 128 * 4),
        ((1, 1), np.float32, 8 * 128 * 4),
        ((130,), np.float32, 8 * 256 * 4),
        ((3, 9, 129), np.float32, 3 * 16 * 256 * 4),
        ((8, 128), jnp.bfloat16, 16 * 128 * 2),
        ((33, 100), np.int8, 64 * 128),
        ((), np.float32, 8 * 128 * 4),
    ],
)
def test_padded_bytes(shape, dtype, expected):
    assert padded_bytes(shape, dtype) == expected


def test_tiles_hold_4_kib_of_every_type():
    assert [tile_shape(t) for t in (np.float32, jnp.bfloat16, np.int8)] == [(8, 128), (16, 128), (32, 128)]


def test_transfers_by_hand(zoo):
    pipeline = Pipeline(zoo["scratch_matmul"]().capture())
    found = [[(t.operand, t.block, t.direction, t.slot) for t in pipeline.transfers(step)] for step in range(6)]
    x, y, o = "x_ref", "y_ref", "o_ref"
    assert found == [
        [(x, (0, 0), "in", 0), (y, (0, 0, 0), "in", 0)],
        [(x, (0, 1), "in", 1), (y, (0, 1, 0), "in", 1)],
        [(x, (0, 2), "in", 0), (y, (0, 2, 0), "in", 0), (o, (0, 0), "out", 0)],
        [(x, (1, 0), "in", 1), (y, (0, 0, 0), "in", 1)],
        [(x, (1, 1), "in", 0), (y, (0, 1, 0), "in", 0)],
        [(x, (1, 2), "in", 1), (y, (0, 2, 0), "in", 1), (o, (1, 0), "out", 1)],
    ]
    out = pipeline.transfers(2)[-1]
    assert (out.bytes, out.logical_bytes) == (8 * 128 * 4, 8 * 8 * 4)


def test_nothing_moves_where_the_index_repeats(zoo):
    pipeline = Pipeline(zoo["prefetched"]().capture())
    block = 8 * 128 * 4
    assert pipeline.load_bytes[:, 0].tolist() == [block, 0, block, block, block]
    assert pipeline.store_bytes.tolist() == [[block, 0]] * 4 + [[block, block]]
    assert pipeline.prefetch_bytes == 5 * 4


def test_partial_blocks_count_what_lies_inside_the_array(zoo):
    pipeline = Pipeline(zoo["partial_blocks"]().capture())
    assert pipeline.load_bytes_logical[:, 0].tolist() == [n * m * 4 for n in (8, 8, 4) for m in (128, 72)]
    assert pipeline.load_bytes[:, 0].tolist() == [8 * 128 * 4] * 6
    assert pipeline.load_bytes_logical.sum() == 20 * 200 * 4
    assert pipeline.store_bytes_logical[:, 0].sum() == 20 * 200 * 4


def test_operands_left_where_they_are_move_nothing(zoo):
    pipeline = Pipeline(zoo["memory_spaces"]().capture())
    scale, whole, row = pipeline.load_bytes.T
    assert scale.tolist() == [4, 0, 0, 0]
    assert not whole.any()
    assert (row > 0).all()
    assert {state.operand for state in pipeline.buffers(0)} == {"row_ref", "o_ref"}


def test_buffer_slots_over_a_run(zoo):
    pipeline = Pipeline(zoo["output_matmul"]().capture())

    def states(step: int, operand: str) -> list[tuple]:
        return [(s.block, s.state) for s in pipeline.buffers(step) if s.operand == operand]

    assert states(0, "x_ref") == [((0, 0), "in use"), ((0, 1), "loading")]
    assert states(1, "x_ref") == [((0, 2), "loading"), ((0, 1), "in use")]
    assert states(0, "o_ref") == [((0, 0), "in use"), (None, "empty")]
    assert states(4, "o_ref") == [((0, 0), "storing"), ((0, 1), "in use")]
    assert states(5, "o_ref") == [((0, 0), "held"), ((0, 1), "in use")]
    assert states(23, "x_ref") == [((1, 2), "held"), ((1, 3), "in use")]


@pytest.fixture
def copies(monkeypatch: pytest.MonkeyPatch):
    """Block copies of the TPU interpreter as (operand, block, grid point, in or out), as they happen.

    It shuffles the order along "parallel" axes; here it goes in order, as one TPU core does.
    """
    monkeypatch.setattr(jax.random, "permutation", lambda key, order: order)
    made: list[tuple[str, tuple[int, ...], tuple[int, ...], str]] = []
    get, store = interpret_pallas_call.get, interpret_pallas_call.store

    def recording(function, keyword, direction):
        def copy(*arguments, **options):
            if options.get(keyword) is not None:
                *_, block, point = arguments
                made.append((options[keyword], _ints(block), _ints(point), direction))
            return function(*arguments, **options)

        return copy

    monkeypatch.setattr(interpret_pallas_call, "get", recording(get, "input_name", "in"))
    monkeypatch.setattr(interpret_pallas_call, "store", recording(store, "output_name", "out"))
    yield made
    pltpu.reset_tpu_interpret_mode_state()


def _ints(values) -> tuple[int, ...]:
    return tuple(int(value) for value in np.asarray(values).reshape(-1))


def _run_in_tpu_interpreter(build) -> None:
    """Build a function and its arguments, and call it, in JAX's TPU interpreter."""
    with pltpu.force_tpu_interpret_mode(pltpu.InterpretParams()):
        function, arguments = build()
        jax.block_until_ready(function(*arguments))


def _assert_same_copies(program, copies) -> None:
    pipeline = Pipeline(program)
    vmem = [item.name for item in program.operands if item.pipelined]
    expected = [
        (t.operand, t.block, program.coords(step), t.direction)
        for step in range(program.steps)
        for t in pipeline.transfers(step)
    ]
    assert [copy for copy in copies if copy[0] in vmem] == [copy for copy in expected if copy[0] in vmem]
    assert len(expected) > 0


@pytest.mark.parametrize("name", ["scratch_matmul", "output_matmul", "partial_blocks", "prefetched"])
def test_the_tpu_interpreter_copies_the_same_blocks(zoo, copies, name):
    _run_in_tpu_interpreter(zoo[name])
    _assert_same_copies(zoo[name]().capture(), copies)


def test_the_tpu_interpreter_copies_the_same_blocks_of_flash(copies):
    problem = AttentionProblem(q_len=48, kv_len=64, head_dim=16, heads=2, kv_heads=1, causal=True)
    rng = np.random.default_rng(0)
    q = jnp.asarray(rng.standard_normal((1, 2, 48, 16)), jnp.float32)
    k, v = (jnp.asarray(rng.standard_normal((1, 1, 64, 16)), jnp.float32) for _ in range(2))
    function = catalog.get("flash").build(problem, BlockSizes(16, 16), interpret=False)
    _run_in_tpu_interpreter(lambda: (function, (q, k, v)))
    program = capture(function, q, k, v)
    _assert_same_copies(program, copies)
    loads = Pipeline(program).load_bytes
    assert (loads == 0).any(axis=0).all(), "tiles that the mask empties are not loaded"


def test_buffers_asked_for_by_the_kernel():
    def body(x_ref, o_ref):
        o_ref[...] = x_ref[...]

    spec = pl.BlockSpec((8, 128), lambda i: (i, 0), pipeline_mode=pl.Buffered(3))
    out = pl.BlockSpec((8, 128), lambda i: (i, 0))
    shape = jax.ShapeDtypeStruct((40, 128), jnp.float32)
    call = pl.pallas_call(body, grid=(5,), in_specs=[spec], out_specs=out, out_shape=shape)
    pipeline = Pipeline(capture(call, np.ones((40, 128), np.float32)))
    assert [pipeline.transfers(step)[0].slot for step in range(5)] == [0, 1, 2, 0, 1]
