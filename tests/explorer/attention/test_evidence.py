"""The evidence of the five stages holds for a right kernel, and fails for a wrong step of each kind."""

from __future__ import annotations

import dataclasses

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from explorer.attention import evidence
from explorer.attention.memory import memory_info
from explorer.attention.moment import Moment
from explorer.attention.snapshot import transfers


def moment_at(bench, step: int) -> Moment:
    subject, driven = bench.workbench._driven()
    return Moment(subject, driven, driven.driver.step(step))


def judged(moment: Moment) -> list[bool | None]:
    subject, driven = moment.subject, moment.driven
    memory = memory_info(driven.program, driven.pipeline, driven.lens, subject.problem, subject.blocks, subject.chip)
    return [stage.holds for stage in evidence.stages(moment, transfers(moment), memory)]


def changed(moment: Moment, part: str, name: str, change) -> Moment:
    """The moment with one array of its record changed."""
    arrays = dict(getattr(moment.record, part))
    key = moment.driven.lens.refs[name]
    arrays[key] = change(np.array(arrays[key]))
    return Moment(moment.subject, moment.driven, dataclasses.replace(moment.record, **{part: arrays}))


def test_every_step_of_a_right_kernel_holds(causal):
    for step in range(causal.configured.steps):
        moment = moment_at(causal, step)
        wanted = [True, True, True, True, None] if moment.computed else [True, None, None, None, None]
        assert judged(moment) == wanted


@settings(max_examples=5)
@given(
    q_len=st.sampled_from([5, 24]), kv_len=st.sampled_from([9, 24]), mask=st.sampled_from(["none", "causal", "window"]),
    dtype=st.sampled_from(["float32", "bfloat16"]), softcap=st.sampled_from([None, 2.0]),
)  # fmt: skip
def test_evidence_holds_over_masks_and_dtypes(bench, q_len, kv_len, mask, dtype, softcap):
    fields = {"none": {}, "causal": {"causal": True, "alignment": "bottom-right"}, "window": {"window": (3, 1)}}[mask]
    small = bench("flash", 8, 8, q_len, kv_len, 1, 1, dtype=dtype, softcap=softcap, **fields)
    for step in range(small.configured.steps):
        assert False not in judged(moment_at(small, step))


@pytest.mark.parametrize(
    ("part", "name", "change", "stage"),
    [
        ("blocks", "k", lambda x: x + 1e-3, 2),
        ("blocks", "v", lambda x: x[::-1], 2),
        ("scratch_after", "m", lambda x: x + 1e-3, 3),
        ("scratch_after", "m", lambda x: np.full_like(x, np.nan), 3),
        ("scratch_after", "l", lambda x: x * 1.001, 3),
        ("scratch_after", "acc", lambda x: x * 1.01, 4),
        ("scratch_after", "acc", lambda x: np.full_like(x, np.nan), 4),
    ],
)
def test_a_wrong_value_fails_the_stage_it_belongs_to(causal, part, name, change, stage):
    moment = changed(moment_at(causal, 6), part, name, change)
    assert judged(moment)[stage - 1] is False


def test_a_pair_that_no_tile_covers_fails_partition(causal):
    moment = moment_at(causal, 6)
    computed = moment.driven.computed.copy()
    computed[0] = False
    driven = dataclasses.replace(moment.driven, computed=computed, covered={})
    assert judged(Moment(moment.subject, driven, moment.record))[0] is False


def test_a_tile_that_vmem_cannot_hold_fails_schedule(causal):
    memory = causal.configured.memory
    too_much = msgspec.structs.replace(memory, vmem_peak=memory.vmem_limit + 1)
    schedule = evidence.stages(moment_at(causal, 0), (), too_much)[4]
    assert schedule.holds is False
    assert "does not fit v5e" in schedule.evidence


def test_a_block_shape_that_a_tpu_refuses_fails_schedule(bench):
    teaching = bench("flash", 2, 4, 8, 8, 1, 1)
    shown = teaching.goto(0).stages[4]
    assert shown.holds is False
    assert "TPU would refuse" in shown.evidence
