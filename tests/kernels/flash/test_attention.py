"""The flash kernel where it is delicate: rounding, peaked rows, head dims, garbage past the end, hidden tiles."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental.pallas import tpu as pltpu

from kernels import catalog
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

TILE = BlockSizes(128, 128)


def test_bfloat16_inputs_are_off_by_about_a_thousandth(judge):
    problem = AttentionProblem(q_len=512, kv_len=512, head_dim=128, dtype="bfloat16")
    judged = judge("flash", problem, TILE)
    assert 3e-4 < judged.o_error < 1.5e-3
    assert judged.lse_error < 2e-6


def test_512_ones_sum_to_512_in_bfloat16(judge):
    """Summed one by one in bfloat16 they would stick at 256: l and acc must be float32."""
    problem = AttentionProblem(q_len=8, kv_len=512, head_dim=8, dtype="bfloat16")
    zeros, ones = np.zeros((1, 1, 512, 8), np.float32), np.ones((1, 1, 512, 8), np.float32)
    judged = judge("flash", problem, BlockSizes(8, 1), (zeros[:, :, :8], zeros, ones))
    np.testing.assert_array_equal(judged.o, 1.0)
    np.testing.assert_allclose(judged.lse, np.log(512), rtol=1e-7)


@pytest.mark.parametrize("head_dim", [64, 80, 128, 192, 256])
def test_head_dims(head_dim, judge):
    problem = AttentionProblem(q_len=96, kv_len=160, head_dim=head_dim, causal=True, alignment="bottom-right")
    judged = judge("flash", problem, BlockSizes(32, 64))
    assert judged.o_error < 2e-6
    assert judged.lse_error < 2e-6


def test_rows_so_peaked_that_the_mask_seems_to_do_nothing(judge, normal_inputs):
    full = AttentionProblem(q_len=96, kv_len=96, head_dim=512, scale=1.0)
    q, _, v = normal_inputs(full)
    causal = judge("flash", full.replace(causal=True), BlockSizes(32, 32), (q, q, v))
    unmasked = judge("flash", full, BlockSizes(32, 32), (q, q, v))
    assert causal.o_error < 1e-6
    np.testing.assert_allclose(causal.o, unmasked.o, atol=1e-6)
    np.testing.assert_allclose(causal.o, v, atol=1e-6)
    strict = full.replace(causal=True, mask=~np.eye(96, dtype=bool)[None, None])
    off_diagonal = judge("flash", strict, BlockSizes(32, 32), (q, q, v))
    assert off_diagonal.o_error < 1e-4
    assert off_diagonal.lse[0, 0, 0] == -np.inf


def test_whatever_lies_past_the_visible_keys_stays_out(judge, normal_inputs):
    problem = AttentionProblem(q_len=20, kv_len=50, head_dim=16, batch=2, kv_lengths=[13, 40], empty_rows="mean-v")
    q, k, v = normal_inputs(problem)
    for batch, length in enumerate((13, 40)):
        k[batch, :, length:] = np.nan
        v[batch, :, length:] = np.nan
    assert judge("flash", problem, BlockSizes(16, 16), (q, k, v)).o_error < 2e-6


def test_blocks_of_skipped_tiles_are_never_read(run, normal_inputs):
    """NaN in every K and V row that causal hides from the first 64 queries: their rows stay clean."""
    problem = AttentionProblem(q_len=64, kv_len=256, head_dim=16, causal=True)
    q, k, v = normal_inputs(problem)
    clean, _ = run("flash", problem, BlockSizes(32, 64), q, k, v)
    k[:, :, 64:], v[:, :, 64:] = np.nan, np.nan
    o, lse = run("flash", problem, BlockSizes(32, 64), q, k, v)
    np.testing.assert_array_equal(o, clean)
    assert np.isfinite(lse).all()


def test_nan_in_the_inputs_is_not_hidden(run, normal_inputs):
    problem = AttentionProblem(q_len=8, kv_len=16, head_dim=8)
    q, k, v = normal_inputs(problem)
    q[0, 0, 3, 2] = np.nan
    o, lse = run("flash", problem, BlockSizes(8, 8), q, k, v)
    np.testing.assert_array_equal(np.isnan(o[0, 0]).all(axis=1), np.arange(8) == 3)
    np.testing.assert_array_equal(np.isnan(lse[0, 0]), np.arange(8) == 3)


def test_a_tile_that_the_mask_empties_within_rows_that_see_others(judge):
    """Rows whose first tiles are wholly hidden, within one q block whose other rows see them."""
    mask = np.ones((1, 1, 32, 64), bool)
    mask[:, :, 16:, :32] = False
    mask[:, :, 5] = False
    judged = judge("flash", AttentionProblem(q_len=32, kv_len=64, head_dim=16, mask=mask), BlockSizes(32, 16))
    assert judged.o_error < 1e-6
    assert judged.lse[0, 0, 5] == -np.inf
    np.testing.assert_array_equal(judged.o[0, 0, 5], 0.0)


def test_shared_heads_are_not_repeated():
    problem = AttentionProblem(q_len=64, kv_len=64, head_dim=16, heads=8, kv_heads=2)
    shapes = [jax.ShapeDtypeStruct((1, h, 64, 16), jnp.float32) for h in (8, 2, 2)]
    jaxpr = jax.make_jaxpr(catalog.get("flash").build(problem, TILE, interpret=True))(*shapes)
    call = next(e for e in jaxpr.eqns if e.primitive.name == "pallas_call")
    assert [v.aval.shape for v in call.invars[1:]] == [(1, 8, 64, 16), (1, 2, 64, 16), (1, 2, 64, 16)]


def test_the_simulated_tpu_agrees(normal_inputs):
    """This interpreter shuffles the parallel axes, fills what was never written with NaN and raises past the bounds."""
    holes = np.repeat(np.repeat(np.eye(4, 3, dtype=bool), 16, axis=0), 32, axis=1)[:50, :77]
    problem = AttentionProblem(q_len=50, kv_len=77, head_dim=16, heads=2, kv_heads=1, mask=holes[None, None])
    arrays = normal_inputs(problem)
    flash, blocks = catalog.get("flash"), BlockSizes(16, 32)
    simulated = jax.jit(flash.build(problem, blocks, interpret=pltpu.InterpretParams()))(*arrays)
    plain = jax.jit(flash.build(problem, blocks, interpret=True))(*arrays)
    np.testing.assert_array_equal(simulated.lse == -np.inf, plain.lse == -np.inf)
    assert np.count_nonzero(np.isinf(plain.lse)) == 2 * 2
    np.testing.assert_allclose(simulated.o, plain.o, atol=1e-6)


RNG = np.random.default_rng(0)
IDS = np.sort(RNG.integers(0, 4, (2, 512)), axis=1)


@pytest.mark.parametrize(
    ("blocks", "fields"),
    [
        ((256, 256), {"head_dim": 128, "dtype": "bfloat16"}),
        ((128, 128), {"head_dim": 64, "causal": True}),
        ((128, 256), {"head_dim": 128, "causal": True, "dtype": "bfloat16", "heads": 4, "kv_heads": 2}),
        ((128, 128), {"head_dim": 80, "batch": 2, "q_segment_ids": IDS, "kv_segment_ids": IDS, "padding_id": 3}),
        ((64, 128), {"q_len": 300, "kv_len": 450, "head_dim": 192, "window": (99, None), "softcap": 20.0}),
        ((1, 256), {"q_len": 1, "kv_len": 1000, "head_dim": 128, "dtype": "bfloat16", "kv_lengths": [900]}),
        ((32, 48), {"q_len": 100, "kv_len": 77, "head_dim": 16}),
        ((32, 128), {"head_dim": 256, "heads": 2, "mask": np.ones((1, 1, 512, 512), bool)}),
        ((8, 128), {"head_dim": 64, "heads": 2, "bias": np.zeros((1, 2, 1, 512), np.float32)}),
    ],
)
def test_it_lowers_for_a_tpu(blocks, fields):
    problem = AttentionProblem(**{"q_len": 512, "kv_len": 512, **fields})
    attend = jax.jit(catalog.get("flash").build(problem, BlockSizes(*blocks), interpret=False))
    q_shape = (problem.batch, problem.heads, problem.q_len, problem.head_dim)
    kv_shape = (problem.batch, problem.kv_head_count, problem.kv_len, problem.head_dim)
    shapes = [jax.ShapeDtypeStruct(shape, problem.dtype) for shape in (q_shape, kv_shape, kv_shape)]
    exported = jax.export.export(attend, platforms=["tpu"])(*shapes)
    assert "tpu_custom_call" in exported.mlir_module()
    assert exported.out_avals[0].shape == q_shape


@pytest.mark.parametrize(("dtype", "precision"), [("float32", "HIGHEST"), ("bfloat16", "DEFAULT")])
def test_float32_means_float32_on_a_tpu(dtype, precision):
    """No interpreter shows it: a TPU's default would round float32 factors to bfloat16."""
    problem = AttentionProblem(q_len=8, kv_len=8, head_dim=8, dtype=dtype)
    shapes = [jax.ShapeDtypeStruct((1, 1, 8, 8), dtype)] * 3
    jaxpr = jax.make_jaxpr(catalog.get("flash").build(problem, TILE, interpret=True))(*shapes)
    assert str(jaxpr).count(f"Precision.{precision}") == 2 * 2  # both factors of both products


STAGES = {
    "3_score_and_normalise/S": "select_n",
    "3_score_and_normalise/m_new": "max",
    "3_score_and_normalise/alpha": "exp",
    "3_score_and_normalise/P": "exp",
    "3_score_and_normalise/l_new": "add",
    "4_accumulate/acc_new": "add",
}


def equations(jaxpr):
    """(scope, primitive) of every equation of a kernel body, those within conditions too."""
    for equation in jaxpr.eqns:
        yield str(equation.source_info.name_stack), equation.primitive.name
        for branch in equation.params.get("branches", ()):
            yield from equations(branch.jaxpr)


def test_stages_and_values_have_their_names():
    problem = AttentionProblem(q_len=64, kv_len=64, head_dim=16, causal=True)
    shapes = [jax.ShapeDtypeStruct((1, 1, 64, 16), jnp.float32)] * 3
    jaxpr = jax.make_jaxpr(catalog.get("flash").build(problem, BlockSizes(32, 32), interpret=True))(*shapes)
    body = next(e for e in jaxpr.eqns if e.primitive.name == "pallas_call").params["jaxpr"]
    found = list(equations(body))
    last = dict(found)
    for scope, primitive in STAGES.items():
        assert last[scope] == primitive
    stages = {scope.split("/")[0] for scope, _ in found} - {""}
    assert stages == {"1_partition", "2_load", "3_score_and_normalise", "4_accumulate", "5_schedule"}
    assert body.debug_info.arg_names[-3:] == ("m_scratch", "l_scratch", "acc_scratch")
