"""Moving through a run, against what a list of its steps says."""

from __future__ import annotations

from collections.abc import Callable

import msgspec
import numpy as np
import pytest
from hypothesis import given, strategies as st

from explorer.link.messages import Configured
from explorer.session import cursor as moves
from explorer.session.cursor import Cursor
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

Make = Callable[..., Configured]
cursors = st.builds(Cursor, step=st.integers(0, 200), stage=st.integers(1, 5), grain=st.sampled_from(moves.GRAINS))
problems = st.builds(
    AttentionProblem,
    q_len=st.integers(1, 12),
    kv_len=st.integers(1, 12),
    head_dim=st.just(4),
    heads=st.integers(1, 2),
    causal=st.booleans(),
    window=st.sampled_from([None, (2, 0), (0, 3), (None, None)]),
)


@pytest.fixture(scope="module")
def causal(make_configured: Make) -> Configured:
    """2 heads of 3 x 3 tiles; in each head steps 1, 2 and 5 are skipped."""
    problem = AttentionProblem(q_len=12, kv_len=12, head_dim=4, heads=2, causal=True)
    return make_configured(problem, BlockSizes(4, 4))


def test_steps_skip_what_the_mask_empties(causal: Configured) -> None:
    at, seen = moves.first(Cursor(), causal), []
    for _ in range(12):
        seen.append(at.step)
        at = moves.forward(at, causal)
    assert seen == [0, 3, 4, 6, 7, 8, 9, 12, 13, 15, 16, 17]
    assert moves.forward(Cursor(0), causal, visit_skipped=True).step == 1
    assert moves.backward(Cursor(3), causal).step == 0
    assert moves.backward(Cursor(3), causal, visit_skipped=True).step == 2


def test_stages_lie_within_steps(causal: Configured) -> None:
    at = Cursor(step=0, stage=4, grain="stage")
    at = moves.forward(at, causal)
    assert (at.step, at.stage) == (0, 5)
    at = moves.forward(at, causal)
    assert (at.step, at.stage) == (3, 1)
    at = moves.backward(at, causal)
    assert (at.step, at.stage) == (0, 5)
    assert moves.first(at, causal) == Cursor(0, 1, "stage")


def test_a_step_finishes_its_stages_first(causal: Configured) -> None:
    assert moves.forward(Cursor(3, 2, "step"), causal) == Cursor(3, 5, "step")
    assert moves.backward(Cursor(3, 2, "step"), causal) == Cursor(0, 5, "step")


def test_row_blocks_end_where_their_output_leaves(causal: Configured) -> None:
    at = Cursor(0, 5, "row block")
    ends = []
    for _ in range(7):
        at = moves.forward(at, causal)
        ends.append(at.step)
    assert ends == [2, 5, 8, 11, 14, 17, 17]
    assert moves.backward(Cursor(8, 5, "row block"), causal).step == 5
    assert moves.backward(Cursor(2, 5, "row block"), causal).step == 0
    assert moves.end_of_row_block(Cursor(3), causal).step == 5


def test_ends_of_the_run(causal: Configured) -> None:
    assert moves.last(Cursor(), causal).step == 17
    assert moves.forward(moves.last(Cursor(), causal), causal).step == 17
    assert moves.backward(Cursor(0, 5), causal) == Cursor(0, 5)
    assert moves.go_to(Cursor(), causal, 99).step == 17
    assert moves.go_to(Cursor(), causal, -3).step == 0


def test_jumps_to_heads_and_tiles(causal: Configured) -> None:
    assert moves.to_head(Cursor(4, 2), causal, 0, 1) == Cursor(13, 2)
    assert moves.to_head(Cursor(4), causal, 0, 9) == Cursor(4)
    assert moves.to_tile(Cursor(), causal, 0, 1, 2, 0).step == 15
    assert moves.to_tile(Cursor(5), causal, 0, 1, 7, 0).step == 5


def test_a_run_without_any_tile_is_walked_whole(make_configured: Make) -> None:
    nothing = AttentionProblem(q_len=4, kv_len=4, head_dim=4, mask=np.zeros((1, 1, 4, 4), bool))
    configured = make_configured(nothing, BlockSizes(2, 2))
    assert moves.forward(Cursor(0), configured).step == 1
    assert moves.first(Cursor(3), configured).step == 0


@pytest.mark.parametrize("grain", moves.GRAINS)
def test_a_kernel_without_steps_stays_where_it_is(causal: Configured, grain: moves.Grain) -> None:
    timeline = msgspec.structs.replace(causal.timeline, computed=np.zeros(0, bool), row_block=np.zeros(0, np.int32))
    nothing = msgspec.structs.replace(causal, steps=0, order=np.zeros((0, 4), np.int32), timeline=timeline)
    at = Cursor(0, 5, grain)
    for move in (moves.forward, moves.backward, moves.last, moves.end_of_row_block):
        assert move(at, nothing).step == 0
    assert moves.to_head(at, nothing, 0, 0) == at
    assert moves.first(at, nothing).step == 0


@given(problem=problems, start=cursors, skipped=st.booleans())
def test_moves_never_leave_the_run_and_go_their_way(
    make_configured: Make, problem: AttentionProblem, start: Cursor, skipped: bool
) -> None:
    configured = make_configured(problem, BlockSizes(4, 4))
    start = moves.clamp(start, configured)
    on, back = moves.forward(start, configured, skipped), moves.backward(start, configured, skipped)
    place = (start.step, start.stage)
    end = (configured.steps - 1, 5)
    assert place <= (on.step, on.stage) <= end
    assert (0, 1) <= (back.step, back.stage) <= place
    assert on.grain == back.grain == start.grain
    assert (on.step, on.stage) > place or place == end


@given(problem=problems, grain=st.sampled_from(moves.GRAINS), skipped=st.booleans())
def test_back_undoes_forward_on_every_place_of_a_walk(
    make_configured: Make, problem: AttentionProblem, grain: moves.Grain, skipped: bool
) -> None:
    configured = make_configured(problem, BlockSizes(4, 4))
    at = moves.first(Cursor(grain=grain), configured, skipped)
    if grain == "row block":
        at = moves.end_of_row_block(at, configured)
    for _ in range(5 * configured.steps):
        on = moves.forward(at, configured, skipped)
        if on.step == configured.steps - 1 or on == at:
            break
        assert moves.backward(on, configured, skipped) == at
        at = on


@given(problem=problems)
def test_a_walk_by_steps_visits_exactly_the_computed_tiles(make_configured: Make, problem: AttentionProblem) -> None:
    configured = make_configured(problem, BlockSizes(4, 4))
    at, seen = moves.first(Cursor(), configured), []
    while not seen or at.step > seen[-1]:
        seen.append(at.step)
        at = moves.forward(at, configured)
    computed = np.flatnonzero(configured.timeline.computed).tolist()
    last = configured.steps - 1
    assert seen == (computed if last in computed else [*computed, last])
