"""Requests that are not about one step: configuring, whole runs, choices, health."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from explorer.attention import judge
from explorer.attention.errors import WorkbenchError
from explorer.attention.workbench import Workbench
from explorer.link.messages import Configure, Diagnose, GetStrips, GoTo, ListKernels, Measure, Run
from kernels import reference
from kernels.catalog import AttentionOutput
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem


def quiet(*_: object) -> None:
    """A progress that nobody watches."""


def request(bench, **changes) -> Configure:
    fields = dict(
        id=1,
        problem=bench.problem,
        blocks=BlockSizes(16, 8),
        kernel="flash",
        chip="v5e",
        q=bench.q,
        k=bench.k,
        v=bench.v,
    )
    return Configure(**{**fields, **changes})


def test_configured_says_the_grid_the_operands_and_the_scale_in_force(causal):
    said = causal.configured
    assert said.grid == (1, 2, 3, 5)
    assert said.steps == 30
    assert said.problem.scale == 0.25
    shapes = {item.name: (item.shape, item.block_shape, item.direction) for item in said.operands}
    assert shapes["q"] == ((1, 2, 40, 16), (1, 1, 16, 16), "in")
    assert shapes["k"] == ((1, 1, 40, 16), (1, 1, 8, 16), "in")
    assert shapes["o"][2] == "out"
    np.testing.assert_array_equal(said.order[7], [0, 0, 1, 2])
    assert "interpreter" in said.ran_on
    assert "not TPU speed" in said.ran_on


def test_blocks_larger_than_the_sequence_are_clamped(bench):
    clamped = bench("flash", 512, 512, 8, 16, 1, 1).configured
    assert (clamped.blocks.block_q, clamped.blocks.block_kv) == (8, 16)


def test_memory_figures_are_those_of_the_buffers(causal):
    memory = causal.configured.memory
    names = {b.name: b for b in memory.buffers}
    # K: two slots of (8, 16) float32, each laid out in one 8 x 128 tile of 4 bytes
    assert names["k"].bytes_padded == 2 * 8 * 128 * 4
    assert names["k"].bytes == 2 * 8 * 16 * 4
    assert names["m"].bytes_padded == 16 * 128 * 4
    assert names["S"].bytes_padded == 16 * 128 * 4
    assert memory.vmem_peak == sum(b.bytes_padded for b in memory.buffers)
    assert memory.naive_matrix_bytes == 2 * 4 * 2 * 40 * 40
    io = 4 * 16 * 40 * (2 * 2 + 2 * 1)
    assert memory.hbm_moved_naive == io + 2 * memory.naive_matrix_bytes


def test_the_timeline_moves_what_the_steps_move(causal):
    timeline = causal.configured.timeline
    for step in (0, 5, 14, 29):
        shown = causal.goto(step)
        loads = {t.operand: t.bytes for t in shown.transfers if t.direction == "in"}
        assert dict(zip(timeline.inputs, timeline.load_bytes[step], strict=True)) == {
            name: loads.get(name, 0) for name in timeline.inputs
        }
        assert timeline.computed[step] == shown.computed
    per_us = causal.configured.chip.hbm_bytes_per_second / 1e6
    np.testing.assert_allclose(timeline.load_us, timeline.load_bytes.sum(axis=1) / per_us)
    assert (timeline.compute_us[~timeline.computed] == 0).all()
    assert timeline.row_block[-1] == 5


@pytest.mark.parametrize("kernel", ["flash", "naive", "xla"])
def test_a_whole_run_is_right_and_measured(bench, kernel):
    subject = bench(kernel, 16, 8, 40, 40, 2, 1, causal=True)
    result = subject.workbench.run(Run(id=9), quiet)
    expected = reference.oracle(subject.problem, subject.q, subject.k, subject.v)
    assert result.ok
    assert result.error_float64 == pytest.approx(np.abs(result.o - expected.o).max())
    assert result.error_float64 < 2e-6
    assert result.timing.count >= 5
    assert 0 < result.timing.median_ms <= result.timing.p95_ms
    assert result.timing.median_ms < result.timing.compile_ms  # the median: one run of ten may be held up
    assert ("interpreter" in result.timing.ran_on) == (kernel == "flash")
    assert result.naive_timing is not None
    assert result.naive_timing.ran_on.startswith("XLA")


@pytest.mark.parametrize("policy", ["zero", "mean-v", "nan"])
def test_rows_that_see_nothing_are_judged_by_their_policy(bench, policy):
    empty = bench("flash", 8, 8, 16, 8, 1, 1, causal=True, alignment="bottom-right", empty_rows=policy)
    assert empty.workbench.run(Run(id=9), quiet).ok


def test_a_wrong_kernel_is_called_wrong(causal, monkeypatch):
    subject = causal.workbench._configured()
    right = judge._outputs(subject)

    def spoiled(_subject):
        o = right[0].copy()
        o[0, 1, 3, 2] += 1e-3
        return o, right[1]

    monkeypatch.setattr(judge, "_outputs", spoiled)
    result = causal.workbench.run(Run(id=9), quiet)
    assert not result.ok
    assert result.error_float64 == pytest.approx(1e-3, rel=0.01)


def test_nan_in_a_result_is_wrong(causal, monkeypatch):
    o = np.full_like(causal.q, np.nan)
    monkeypatch.setattr(judge, "_outputs", lambda _: (o, None))
    result = causal.workbench.run(Run(id=9), quiet)
    assert not result.ok
    assert result.error_float64 == np.inf


def test_measuring_can_be_cancelled(causal):
    class StopNow(BaseException):
        pass

    def stop(*_: object) -> None:
        raise StopNow

    with pytest.raises(StopNow):
        causal.workbench.measure(Measure(id=4, repeats=3), stop)


def test_inputs_are_kept_until_others_come(causal):
    workbench = Workbench()
    with pytest.raises(WorkbenchError, match="given together"):
        workbench.configure(request(causal, q=None, k=None, v=None), quiet)
    with pytest.raises(WorkbenchError, match="given together"):
        workbench.configure(request(causal, k=None), quiet)
    workbench.configure(request(causal, kernel="naive"), quiet)
    again = workbench.configure(request(causal, kernel="naive", q=None, k=None, v=None), quiet)
    assert again.kernel == "naive"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kernel": "nosuch"}, "nosuch"),
        ({"chip": "v99"}, "v99"),
        (
            {"q": np.zeros((1, 1, 40, 16), np.float32)},
            r"q has shape \(1, 1, 40, 16\), the problem needs \(1, 2, 40, 16\)",
        ),
        ({"kernel": "jax-flash"}, "jax-flash"),
    ],
)
def test_what_cannot_be_is_refused_by_name_and_the_last_kernel_stays(causal, changes, message):
    before = causal.goto(7)
    with pytest.raises(WorkbenchError, match=message):
        causal.workbench.configure(request(causal, **changes), quiet)
    np.testing.assert_array_equal(causal.goto(7).output, before.output)


def test_a_kernel_with_no_grid_says_why_it_is_not_driven(bench):
    naive = bench("naive", 8, 8, 16, 16, 1, 1)
    assert not naive.configured.driven
    assert "no Pallas kernel" in naive.configured.reason_not_driven
    with pytest.raises(WorkbenchError, match="no grid to step through"):
        naive.workbench.goto(GoTo(id=2, step=0), quiet)


def test_nothing_configured_is_said(causal):
    with pytest.raises(WorkbenchError, match="no kernel is configured"):
        Workbench().goto(GoTo(id=2, step=0), quiet)


def test_strips_are_the_rows_the_kernel_reads(causal):
    strips = causal.workbench.strips(GetStrips(id=5, batch=0, head=1), quiet)
    np.testing.assert_array_equal(strips.q, causal.q[0, 1])
    np.testing.assert_array_equal(strips.k, causal.k[0, 0])
    np.testing.assert_array_equal(strips.v, causal.v[0, 0])


def test_bf16_inputs_are_shown_rounded(bench):
    half = bench("flash", 16, 16, 32, 32, 1, 1, dtype="bfloat16")
    strips = half.workbench.strips(GetStrips(id=5, batch=0, head=0), quiet)
    np.testing.assert_array_equal(strips.q, reference.rounded(half.problem, half.q)[0, 0])
    assert not np.array_equal(strips.q, half.q[0, 0])


def test_the_list_of_kernels_says_who_can_take_the_problem():
    problem = AttentionProblem(q_len=40, kv_len=40, head_dim=16, softcap=5.0)
    said = Workbench().kernels(ListKernels(id=1, problem=problem, blocks=BlockSizes(16, 8)), quiet)
    refusals = {choice.name: choice.refusal for choice in said.kernels}
    assert refusals["flash"] == ""
    assert refusals["naive"] == ""
    assert refusals["jax-flash"]
    assert set(said.chips) == {"v4", "v5e", "v5p", "v6e", "7x"}


def test_the_doctor_finds_this_installation_sound():
    said = Workbench().diagnose(Diagnose(id=1), quiet)
    assert {check.name for check in said.checks} >= {"jax", "devices", "pl.num_programs", "flash against float64"}
    assert [check for check in said.checks if not check.ok] == []


def test_a_check_that_raises_is_reported_and_the_others_run(monkeypatch):
    from explorer.attention import doctor

    def broken() -> str:
        raise RuntimeError("no such thing")

    monkeypatch.setattr(doctor.canary, "stale_num_programs", broken)
    checks = {check.name: check for check in Workbench().diagnose(Diagnose(id=1), quiet).checks}
    assert not checks["pl.num_programs"].ok
    assert "no such thing" in checks["pl.num_programs"].detail
    assert checks["chips"].ok


def test_replies_survive_the_link(causal):
    from explorer.link import codec

    shown = msgspec.structs.replace(causal.goto(7), id=77)
    import io

    stream = io.BytesIO()
    codec.write(stream, shown)
    stream.seek(0)
    back = codec.read_reply(stream)
    assert back.id == 77
    np.testing.assert_array_equal(back.output, shown.output)
    assert back.stages == shown.stages


def test_a_wrong_outputs_shape_of_lse_is_not_hidden(causal, monkeypatch):
    subject = causal.workbench._configured()
    right = AttentionOutput(*judge._outputs(subject))
    monkeypatch.setattr(judge, "_outputs", lambda _: (right.o, right.lse + 0.5))
    result = causal.workbench.run(Run(id=9), quiet)
    assert not result.ok
    assert result.error_lse == pytest.approx(0.5, rel=1e-3)
