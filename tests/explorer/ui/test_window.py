"""The window does what its keys, menus and drops say, remembers how it was left, and shows what became of an engine."""

from __future__ import annotations

import numpy as np
import pytest
from PySide6.QtCore import QMimeData, QPoint, QPointF, QSettings, Qt, QUrl
from PySide6.QtGui import QDropEvent, QGuiApplication, QImage
from PySide6.QtWidgets import QFileDialog

from explorer.session.config import Configuration, load
from explorer.ui.actions import ACTIONS
from explorer.ui.theme import DARK, LIGHT
from explorer.ui.window import Window

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)
KEYS = {
    "Home": Qt.Key.Key_Home, "End": Qt.Key.Key_End, "Left": Qt.Key.Key_Left, "Right": Qt.Key.Key_Right,
    "Space": Qt.Key.Key_Space,
}  # fmt: skip


@pytest.fixture
def settings(tmp_path) -> QSettings:
    return QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)


@pytest.fixture
def make_window(desk, qtbot, settings):
    """make_window() -> a shown Window at 1280x800 on the started desk."""

    def make(theme=LIGHT) -> Window:
        window = Window(desk.controller, settings, theme)
        qtbot.addWidget(window)
        window.resize(1280, 800)
        window.show()
        window.page.setFocus()
        qtbot.wait(20)
        return window

    return make


def press(qtbot, window, key, modifier=Qt.KeyboardModifier.NoModifier):
    qtbot.keyClick(window, KEYS.get(key, key), modifier)


def test_keys_move_through_the_run(desk, make_window, qtbot):
    window = make_window()
    computed = np.flatnonzero(desk.state.configured.timeline.computed)
    press(qtbot, window, "Home")
    desk.settle()
    assert desk.state.snapshot.step == computed[0]
    press(qtbot, window, "Right")
    desk.settle()
    assert desk.state.snapshot.step == computed[1]
    press(qtbot, window, "Left")
    desk.settle()
    assert desk.state.snapshot.step == computed[0]
    press(qtbot, window, "Right", Qt.KeyboardModifier.ShiftModifier)
    desk.settle()
    blocks = desk.state.configured.timeline.row_block
    assert desk.state.snapshot.step == np.flatnonzero(blocks == 0)[-1]
    press(qtbot, window, "End")
    desk.settle()
    assert desk.state.snapshot.step == desk.state.configured.steps - 1


def test_space_plays_and_pauses(desk, make_window, qtbot):
    window = make_window()
    press(qtbot, window, "Space")
    assert desk.state.playing
    assert window.actions_by_id["play"].isChecked()
    press(qtbot, window, "Space")
    assert not desk.state.playing


def test_buttons_of_the_transport_are_the_actions(desk, make_window, qtbot):
    window = make_window()
    qtbot.mouseClick(window.page.transport.buttons["last"], Qt.MouseButton.LeftButton)
    desk.settle()
    assert desk.state.snapshot.step == desk.state.configured.steps - 1


def test_menus_hold_every_action_once(make_window):
    window = make_window()
    in_menus = [action for menu in window.menuBar().actions() for action in menu.menu().actions()]
    for spec in ACTIONS:
        assert in_menus.count(window.actions_by_id[spec.id]) == 1
        assert window.actions_by_id[spec.id].toolTip() == spec.tooltip


def test_settings_are_undone_and_redone_by_key(desk, make_window, qtbot):
    window = make_window()
    window.page.settings.changed.emit({"block_q": 8})
    desk.settle()
    assert desk.state.configured.blocks.block_q == 8
    press(qtbot, window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier)
    desk.settle()
    assert desk.state.configured.blocks.block_q == 16
    press(qtbot, window, Qt.Key.Key_Z, Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier)
    desk.settle()
    assert desk.state.configured.blocks.block_q == 8


def test_settings_that_cannot_be_say_so_and_leave_the_picture(desk, make_window):
    window = make_window()
    shown = desk.state.snapshot
    window.page.settings.changed.emit({"block_q": 0})
    desk.settle()
    assert "block-q" in window.page.messages.text.text()
    assert window.page.messages.isVisible()
    assert desk.state.snapshot is shown


def test_a_dropped_input_is_opened(desk, make_window, tmp_path):
    path = tmp_path / "own.npz"
    rng = np.random.default_rng(0)
    np.savez(path, **{name: rng.standard_normal((2, 24, 8)).astype(np.float32) for name in "qkv"})
    window = make_window()
    drop(window, path)
    desk.settle()
    assert desk.state.configured.problem.q_len == 24
    assert "own" in window.windowTitle()


def test_a_dropped_settings_file_is_opened(desk, make_window, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text('input = "normal"\nq-len = 16\nkv-len = 16\nheads = 1\nhead-dim = 8\n')
    drop(make_window(), path)
    desk.settle()
    assert desk.state.configured.problem.q_len == 16


def test_a_dropped_file_of_another_kind_is_refused_by_name(desk, make_window, tmp_path):
    path = tmp_path / "notes.txt"
    path.write_text("no")
    window = make_window()
    drop(window, path)
    assert "notes.txt" in window.page.messages.text.text()
    assert ".safetensors" in window.page.messages.text.text()


def drop(window, path):
    data = QMimeData()
    data.setUrls([QUrl.fromLocalFile(str(path))])
    window.dropEvent(
        QDropEvent(QPointF(10, 10), Qt.DropAction.CopyAction, data, Qt.MouseButton.LeftButton,
                   Qt.KeyboardModifier.NoModifier)
    )  # fmt: skip


def test_settings_are_saved_where_the_dialog_says(desk, make_window, tmp_path, monkeypatch):
    path = tmp_path / "saved.toml"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    make_window().actions_by_id["save"].trigger()
    assert load(path) == desk.state.configuration
    assert isinstance(load(path), Configuration)


def test_a_picture_is_saved_with_what_it_shows(desk, make_window, tmp_path, monkeypatch):
    path = tmp_path / "picture.png"
    monkeypatch.setattr(QFileDialog, "getSaveFileName", lambda *_: (str(path), ""))
    make_window().actions_by_id["save-picture"].trigger()
    image = QImage(str(path))
    assert (image.width(), image.height()) == (1280, 800)
    assert 'input = "normal"' in image.text("Settings")
    assert image.text("Step") == str(desk.state.snapshot.step)


def test_a_picture_is_copied(make_window):
    window = make_window()
    window.actions_by_id["copy-picture"].trigger()
    assert QGuiApplication.clipboard().image().size() == window.size()


def test_theme_is_changed_by_key_and_remembered(make_window, desk, settings, qtbot):
    window = make_window(theme=LIGHT)
    press(qtbot, window, Qt.Key.Key_T, Qt.KeyboardModifier.ControlModifier)
    assert window.theme is DARK
    window.close()
    assert desk.client.closed
    again = Window(desk.controller, settings)
    qtbot.addWidget(again)
    assert again.theme is DARK


def test_what_became_of_an_engine_is_still_said_when_the_next_one_shows(desk, make_window):
    window = make_window()
    step = desk.state.snapshot.step
    desk.client.die("The engine was killed (signal 9).")
    desk.settle()
    assert desk.state.snapshot.step == step
    assert "signal 9" in window.page.messages.text.text()
    assert "nothing is lost" in window.page.messages.text.text()
    assert window.page.messages.isVisible()


@pytest.mark.parametrize("size", [(1280, 800), (1440, 900), (1920, 1080)])
def test_everything_has_the_room_it_needs(make_window, qtbot, size):
    window = make_window()
    window.resize(*size)
    qtbot.wait(50)
    assert (window.width(), window.height()) == size
    page = window.page
    for name, panel in page.panels.items():
        if panel.isVisible():
            least = panel.minimumSizeHint()
            assert panel.height() >= least.height(), name
            assert panel.width() >= least.width(), name
            assert window.rect().contains(panel.rect().translated(panel.mapTo(window, QPoint(0, 0)))), name
    for part in (page.settings, page.transport, page.readouts):
        assert part.width() >= part.minimumSizeHint().width()
        assert window.rect().contains(part.rect().translated(part.mapTo(window, QPoint(0, 0))))


def test_where_there_is_room_for_one_panel_a_button_leads_to_the_other(make_window, qtbot):
    window = make_window()
    window.resize(1280, 730)
    qtbot.wait(50)
    softmax, values = window.page.panels["softmax"], window.page.panels["values"]
    assert (softmax.isVisible(), values.isVisible()) == (True, False)
    pair = softmax.parent().parent()
    qtbot.mouseClick(pair.buttons[0], Qt.MouseButton.LeftButton)
    assert (softmax.isVisible(), values.isVisible()) == (False, True)
    window.resize(1280, 1200)
    qtbot.wait(50)
    assert (softmax.isVisible(), values.isVisible()) == (True, True)
