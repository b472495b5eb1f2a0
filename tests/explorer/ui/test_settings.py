"""Settings take effect by themselves, say what is wrong with them in one line, and show what is in force."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QShortcut
from PySide6.QtTest import QSignalSpy

from explorer.link.messages import KernelChoice, KernelList
from explorer.session.config import Configuration
from explorer.session.inputs import AttentionInputs
from explorer.session.state import StepState
from explorer.ui import readers
from explorer.ui.setting_choices import OPEN_FILE, block_note
from explorer.ui.settings import SettingsBar
from explorer.ui.theme import LIGHT
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

REFUSAL = "jax-splash needs block_kv to be a multiple of 128"
KERNELS = KernelList(
    id=1, chips=("v5e", "v6e"),
    kernels=(KernelChoice(name="flash", title="Flash", refusal=""),
             KernelChoice(name="jax-splash", title="Splash", refusal=REFUSAL)),
)  # fmt: skip


@pytest.fixture
def bar(qtbot) -> SettingsBar:
    bar = SettingsBar()
    qtbot.addWidget(bar)
    bar.set_theme(LIGHT)
    bar.show_state(StepState(configuration=Configuration(block_q=16, block_kv=8, mask="causal"), kernels=KERNELS))
    bar.show()
    return bar


def entries(chip):
    chip.menu().aboutToShow.emit()
    return {action.text(): action for action in chip.menu().actions()}


def type_in(qtbot, field, text):
    field.edit.setFocus()
    field.edit.selectAll()
    qtbot.keyClicks(field.edit, text)


def test_a_pause_in_typing_is_enough(qtbot, bar):
    with qtbot.waitSignal(bar.changed, timeout=2000) as changed:
        type_in(qtbot, bar.block_q, "32")
    assert changed.args == [{"block_q": 32}]


def test_return_does_not_wait_for_the_pause(qtbot, bar):
    spy = QSignalSpy(bar.changed)
    type_in(qtbot, bar.block_kv, "64")
    qtbot.keyClick(bar.block_kv.edit, Qt.Key.Key_Return)
    assert spy.count() == 1
    assert spy.at(0) == [{"block_kv": 64}]


def test_digits_of_one_number_are_one_change(qtbot, bar):
    spy = QSignalSpy(bar.changed)
    type_in(qtbot, bar.block_q, "128")
    qtbot.wait(700)
    assert [spy.at(i)[0] for i in range(spy.count())] == [{"block_q": 128}]


@pytest.mark.parametrize("text", ["abc", "0", "-4", "2.5"])
def test_a_wrong_value_is_said_in_one_line_and_changes_nothing(qtbot, bar, text):
    spy = QSignalSpy(bar.changed)
    type_in(qtbot, bar.block_q, text)
    qtbot.keyClick(bar.block_q.edit, Qt.Key.Key_Return)
    assert spy.count() == 0
    assert bar._invalid.isVisible()
    assert f"block q '{text}'" in bar._invalid.text()
    assert "\n" not in bar._invalid.text()
    type_in(qtbot, bar.block_q, "8")
    qtbot.keyClick(bar.block_q.edit, Qt.Key.Key_Return)
    assert not bar._invalid.isVisible()
    assert spy.at(0) == [{"block_q": 8}]


def test_arrows_go_through_the_powers_of_two(qtbot, bar):
    with qtbot.waitSignal(bar.changed, timeout=2000) as changed:
        qtbot.keyClick(bar.block_q.edit, Qt.Key.Key_Up)
    assert changed.args == [{"block_q": 32}]


def test_a_kernel_that_refuses_is_shown_disabled_with_the_reason(bar):
    found = entries(bar.kernel)
    assert found["flash: Flash"].isEnabled()
    assert not found["jax-splash: Splash"].isEnabled()
    assert found["jax-splash: Splash"].toolTip() == REFUSAL


def test_choosing_from_a_menu_is_a_change(bar):
    spy = QSignalSpy(bar.changed)
    entries(bar.chip)["v6e"].trigger()
    assert spy.at(0) == [{"chip": "v6e"}]


def test_mask_window_comes_with_keys_and_leaves_with_them(bar):
    spy = QSignalSpy(bar.changed)
    entries(bar.mask_rule)["window"].trigger()
    entries(bar.mask_rule)["none"].trigger()
    assert spy.at(0) == [{"mask": "window", "window": (128, 0)}]
    assert spy.at(1) == [{"mask": "none", "window": None}]


def test_the_window_field_shows_only_where_it_means_something(bar):
    assert not bar.window_keys.isVisible()
    bar.show_state(StepState(configuration=Configuration(mask="window", window=(4, None))))
    assert bar.window_keys.isVisible()
    assert bar.window_keys.edit.text() == "4,"


def test_inputs_are_grouped_and_a_file_can_be_opened(bar):
    opened, changed = QSignalSpy(bar.open_file_requested), QSignalSpy(bar.changed)
    found = entries(bar.input)
    assert not found["Real sentences"].isEnabled()
    next(action for text, action in found.items() if text.startswith("Open a file")).trigger()
    assert (opened.count(), changed.count()) == (1, 0)
    assert OPEN_FILE not in found


def test_another_input_leaves_the_old_ones_shape_behind(bar):
    spy = QSignalSpy(bar.changed)
    next(action for text, action in entries(bar.input).items() if text.startswith("Needle")).trigger()
    change = spy.at(0)[0]
    assert change["input"] == "needle"
    assert change["q_len"] is None
    assert change["block_q"] is None


def test_text_being_typed_is_not_taken_away(qtbot, bar):
    type_in(qtbot, bar.block_q, "6")
    bar.show_state(StepState(configuration=Configuration(block_q=99, mask="causal"), kernels=KERNELS))
    assert bar.block_q.edit.text() == "6"


def test_the_rarer_settings_are_in_the_panel_behind_more(qtbot, bar):
    spy = QSignalSpy(bar.changed)
    bar.more_button.click()
    assert bar.more.isVisible()
    type_in(qtbot, bar.more.fields["softcap"], "30")
    qtbot.keyClick(bar.more.fields["softcap"].edit, Qt.Key.Key_Return)
    entries(bar.more.menus["dtype"])["bfloat16"].trigger()
    assert [spy.at(i)[0] for i in range(spy.count())] == [{"softcap": 30.0}, {"dtype": "bfloat16"}]
    type_in(qtbot, bar.more.fields["scale"], "big")
    qtbot.keyClick(bar.more.fields["scale"].edit, Qt.Key.Key_Return)
    assert "scale 'big'" in bar.more._invalid.text()
    assert spy.count() == 2
    bar.more.close()


def test_texts_are_read_as_values():
    assert readers.whole("") is None
    assert readers.whole("12") == 12
    assert readers.seed("") == 0
    assert readers.number("1e-2") == 0.01
    assert readers.window("128,") == (128, None)
    for read, text in ((readers.number, "inf"), (readers.number, "nan"), (readers.window, "3"), (readers.seed, "-1")):
        with pytest.raises(ValueError, match="last good setting stays"):
            read(text)


def test_files_used_last_are_offered_by_their_paths(bar):
    bar.recent = lambda: ("/data/heads.npz", "needle")
    assert "/data/heads.npz" in entries(bar.input)
    assert "needle" not in entries(bar.input)
    spy = QSignalSpy(bar.changed)
    entries(bar.input)["/data/heads.npz"].trigger()
    assert spy.at(0)[0]["input"] == "/data/heads.npz"


def test_a_mask_that_the_input_cannot_give_says_what_is_missing(bar):
    array = np.zeros((1, 1, 4, 8), np.float32)
    configuration = Configuration(input="mine.npz")
    mine = AttentionInputs("mine.npz", "Mine", array, array, array)
    bar.show_state(StepState(configuration=configuration, inputs=mine))
    found = entries(bar.mask_rule)
    assert not found["segments"].isEnabled()
    assert "q_segment_ids" in found["segments"].toolTip()
    assert not found["array"].isEnabled()
    assert found["causal"].isEnabled()
    preset = AttentionInputs("needle", "Needle", array, array, array)
    bar.show_state(StepState(configuration=Configuration(input="needle"), inputs=preset))
    assert entries(bar.mask_rule)["array"].isEnabled()


def test_a_block_longer_than_its_sequence_shows_what_is_in_force(make_configured):
    configured = make_configured(AttentionProblem(q_len=96, kv_len=48, head_dim=8), BlockSizes(96, 16))
    state = StepState(configuration=Configuration(block_q=128, block_kv=16), configured=configured)
    assert block_note(state, "block_q") == "→ 96"
    assert block_note(state, "block_kv") == ""


def test_one_field_put_right_does_not_hide_what_is_wrong_with_another(qtbot, bar):
    for field, text in ((bar.block_q, "0"), (bar.block_kv, "x"), (bar.block_q, "8")):
        type_in(qtbot, field, text)
        qtbot.keyClick(field.edit, Qt.Key.Key_Return)
    assert bar._invalid.isVisible()
    assert bar._invalid.text().startswith("block kv 'x'")


def test_every_setting_has_a_key_and_its_tip_names_it(qtbot, bar):
    keys = [shortcut.key().toString() for shortcut in bar.findChildren(QShortcut)]
    assert sorted(keys) == [f"Alt+{letter}" for letter in "BCIKMOQW"]
    tips = [chip.toolTip() for chip in (bar.kernel, bar.input, bar.mask_rule, bar.chip, bar.more_button)]
    tips += [field.edit.toolTip() for field in (bar.block_q, bar.block_kv, bar.window_keys)]
    assert sorted(tip.split("\n")[0][-6:-1] for tip in tips) == sorted(keys)


@pytest.mark.parametrize("width", [1264, 1904])
def test_only_the_inputs_title_gives_way_and_it_is_whole_in_the_tip(qtbot, bar, width):
    title = "a_long_recording_of_a_long_run_with_a_name_that_has_no_end_layer_17_heads_0_to_11_step_100000.npz"
    configuration = Configuration(
        input=f"/data/{title}", mask="causal-bottom-right", window=(128, 0), kernel="jax-splash", block_q=512,
        block_kv=1024, chip="v5e",
    )  # fmt: skip
    bar.show_state(StepState(configuration=configuration))
    bar.resize(width, bar.height())
    qtbot.wait(10)
    assert bar.width() == width
    parts = [bar.kernel, bar.block_q, bar.block_kv, bar.mask_rule, bar.window_keys, bar.chip, bar.more_button]
    for part in parts:
        assert part.width() >= part.sizeHint().width()
    assert title in bar.input.toolTip()
    assert bar.input.width() >= bar.input.minimumSizeHint().width()
    assert bar.rect().contains(bar.more_button.geometry())
