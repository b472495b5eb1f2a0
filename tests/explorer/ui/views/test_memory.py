from dataclasses import replace

import msgspec
import pytest
from PySide6.QtCore import QPointF

from explorer.link.messages import Transfer
from explorer.ui.views import MemoryView
from explorer.ui.views.memory_model import columns, has_run, slot_text
from explorer.ui.views.memory_paint import flow


@pytest.fixture
def view(qtbot, scene):
    view = MemoryView()
    qtbot.addWidget(view)
    view.resize(330, 270)
    view.show_state(scene.state(3))
    return view


def words(paint, view):
    return [placed.text for placed in paint(view)[1]]


def test_operands_of_attention_have_columns_and_others_a_line(scene):
    found, others = columns(scene.configured, scene.snapshot(3))
    assert [column.title for column in found] == ["Q", "K", "V", "O"]
    assert [operand.name for operand in others] == ["lse"]
    assert [column.position for column in found] == [1, 1, 1, 1]
    assert [column.blocks for column in found] == [2, 2, 2, 2]


def test_any_other_kernel_has_columns_for_its_largest_operands(scene):
    plain = tuple(msgspec.structs.replace(item, role="other") for item in scene.configured.operands)
    found, others = columns(msgspec.structs.replace(scene.configured, operands=plain), scene.snapshot(3))
    assert [column.title for column in found] == ["q", "k", "v", "o"]
    assert [operand.name for operand in others] == ["lse"]


def test_transfers_carry_their_block_and_bytes(view, paint):
    said = words(paint, view)
    assert {"K[1]", "V[1]", "O[1]", "8.00 KiB", "held"} <= set(said)
    assert "HBM · naive would add S and P: 8.00 KiB" in said


def test_loads_wait_for_stage_2_and_stores_for_stage_5(scene):
    load, store = (
        Transfer(operand="k", role="k", block=(0,), direction=way, slot=0, bytes=1, logical_bytes=1)
        for way in ("in", "out")
    )
    assert [has_run(load, stage) for stage in (1, 2, 5)] == [False, True, True]
    assert [has_run(store, stage) for stage in (2, 4, 5)] == [False, False, True]


@pytest.mark.parametrize(
    ("step", "stage", "expected"),
    [
        (3, 5, ["Q0 empty", "Q1 [1]", "K0 empty", "K1 [1]"]),
        (3, 1, ["Q0 empty", "Q1 [1]", "K0 empty", "K1 [1] awaited"]),
        (2, 5, ["Q0 empty", "Q1 [1]", "K0 [0]", "K1 [1] loading"]),
    ],
)
def test_slots_say_what_they_hold(scene, step, stage, expected):
    found, _ = columns(scene.configured, scene.snapshot(step))
    assert [slot_text(column, slot, stage).choices[0] for column in found[:2] for slot in (0, 1)] == expected


def test_the_sentence_counts_what_has_moved(view, scene):
    assert view.sentence() == "Moves K[1], V[1], O[1]: 24.0 KiB. So far 32.0 KiB of 64.0 KiB; naive moves 96.0 KiB."
    view.show_state(scene.state(3, stage=4))
    assert view.sentence().startswith("Moves K[1], V[1]: 16.0 KiB. So far 24.0 KiB of 64.0 KiB;")
    view.show_state(scene.state(3, stage=1))
    assert view.sentence().startswith("Moves nothing. So far 8.00 KiB of 64.0 KiB;")


def test_vmem_stands_against_the_scoped_limit_and_names_the_physical_size(view, paint):
    said = " ".join(words(paint, view))
    assert "40.0 KiB live" in said
    assert "of 16.0 MiB" in said
    assert "lower bound" in said
    assert "128 MiB" in said


def test_over_the_limit_is_red(view, scene, paint):
    memory = msgspec.structs.replace(scene.configured.memory, vmem_peak=32 << 20)
    state = scene.state(3)
    view.show_state(replace(state, configured=msgspec.structs.replace(scene.configured, memory=memory)))
    image, _ = paint(view)
    assert view.theme.wrong in {image.pixelColor(x, y).name() for x in range(4, 8) for y in range(200, 262)}


def test_tips_have_logical_bytes_beside_padded_ones(view, paint):
    paint(view)
    tips = [view.tip_at(QPointF(x, y)) for x in range(5, 325, 20) for y in range(5, 260, 8)]
    assert any("8.00 KiB as laid out in tiles, 512 B logical" in tip for tip in tips)
    assert any("m (scratch): float32 16 × 128" in tip for tip in tips)
    assert any("k, slot 1: block [0, 0, 1, 0], in use" in tip for tip in tips)


def test_chips_fill_their_lines(scene):
    buffers = scene.configured.memory.buffers
    lines = flow(buffers, 100.0, lambda text: 20.0)
    assert [item.name for line in lines for item, _ in line] == [item.name for item in buffers]
    for line in lines:
        assert sum(width for _, width in line) + 4 * (len(line) - 1) == pytest.approx(100.0)
