"""What a TPU refuses is known before compiling, and agrees with what Pallas' own lowering says on any machine."""

import jax
import numpy as np
import pytest

from kernels import catalog
from kernels.catalog import Unsupported
from kernels.flash.block_sizes import BlockSizes
from kernels.flash.limits import table_bytes, tpu_refusal
from kernels.problem import AttentionProblem

IDS = np.zeros((1, 512), np.int32)
LONG = {"q_len": 512, "kv_len": 512, "head_dim": 64}


@pytest.mark.parametrize(
    ("extra", "blocks", "words"),
    [
        ({}, (8, 8), []),
        ({}, (24, 40), []),
        ({}, (512, 512), []),
        ({}, (1000, 1000), []),
        ({"q_len": 5, "kv_len": 3}, (128, 128), []),
        ({}, (7, 128), ["block_q 7", "multiples of 8", "8 or 512"]),
        ({}, (100, 128), ["block_q 100", "96 or 104 or 512"]),
        ({}, (128, 100), ["block_kv 100", "multiples of 8"]),
        ({"q_segment_ids": IDS, "kv_segment_ids": IDS}, (128, 64), ["block_kv 64", "multiples of 128"]),
        ({"bias": np.zeros((1, 1, 1, 512), np.float32)}, (128, 200), ["block_kv 200", "128 or 256"]),
        ({"bias": np.zeros((1, 1, 512, 1), np.float32)}, (128, 200), []),
        ({"mask": np.ones((1, 1, 512, 512), bool)}, (8, 128), ["block_q 8", "multiples of 32"]),
        ({"mask": np.ones((1, 1, 1, 512), bool)}, (8, 128), []),
        ({"q_len": 32768, "kv_len": 32768}, (64, 64), ["tile table", "1,024 KiB", "1,020 KiB"]),
        ({"q_len": 32640, "kv_len": 32768}, (64, 64), []),
    ],
)
def test_refusals_name_the_size_and_what_would_do(extra, blocks, words):
    problem = AttentionProblem(**{**LONG, **extra})
    reason = tpu_refusal(problem, BlockSizes(*blocks))
    assert bool(reason) == bool(words)
    for word in words:
        assert word in reason
    flash = catalog.get("flash")
    assert flash.refusal(problem, BlockSizes(*blocks), "tpu") == reason
    assert flash.refusal(problem, BlockSizes(*blocks), "cpu") == ""
    if words:
        with pytest.raises(Unsupported, match=words[0]):
            flash.build(problem, BlockSizes(*blocks), interpret=False)


@pytest.mark.parametrize("block", [4, 7, 8, 20, 24, 36, 40])
def test_the_block_rule_is_the_one_of_pallas(block, monkeypatch):
    problem = AttentionProblem(q_len=40, kv_len=40, head_dim=64)
    blocks = BlockSizes(block, 40)
    refused = bool(tpu_refusal(problem, blocks))
    monkeypatch.setattr("kernels.flash.attention.tpu_refusal", lambda *_: "")
    attend = jax.jit(catalog.get("flash").build(problem, blocks, interpret=False))
    shapes = [jax.ShapeDtypeStruct((1, 1, 40, 64), "float32")] * 3
    if refused:
        with pytest.raises(ValueError, match="divisible by 8 and 128"):
            jax.export.export(attend, platforms=["tpu"])(*shapes)
    else:
        assert jax.export.export(attend, platforms=["tpu"])(*shapes).platforms == ("tpu",)


def test_the_table_counts_only_masks_that_differ():
    problem = AttentionProblem(**LONG, batch=3, heads=4)
    assert table_bytes(problem, BlockSizes(128, 128)) == 4 * 16
    assert table_bytes(problem.replace(kv_lengths=[1, 2, 3]), BlockSizes(128, 128)) == 4 * (3 * 16 + 3)
    by_head = np.ones((1, 4, 1, 1), bool)
    assert table_bytes(problem.replace(mask=by_head), BlockSizes(128, 128)) == 4 * 4 * 16
