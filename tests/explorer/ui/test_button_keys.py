"""Keys that the window uses too press the button that has the focus."""

from __future__ import annotations

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtGui import QKeySequence, QShortcut
from PySide6.QtTest import QSignalSpy
from PySide6.QtWidgets import QApplication, QHBoxLayout, QPushButton, QWidget

from explorer.ui.button_keys import keep_button_keys
from explorer.ui.chips import Choice, MenuChip
from explorer.ui.views.segments import Choice as Segment, Segments

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)


@pytest.fixture
def page(qtbot):
    """A window that plays on Space and steps on Right, with a button, a row of choices and a menu in it."""
    page = QWidget()
    qtbot.addWidget(page)
    layout = QHBoxLayout(page)
    page.button = QPushButton("Stop")
    page.segments = Segments([Segment(name, name, name, "") for name in ("stage", "step")])
    page.chip = MenuChip("kernel", lambda: [Choice("flash", "flash")])
    for widget in (page.button, page.segments, page.chip):
        layout.addWidget(widget)
    page.used = []
    for key in ("Space", "Right"):
        QShortcut(QKeySequence(key), page, lambda key=key: page.used.append(key))
    page.show()
    with qtbot.waitActive(page):
        page.activateWindow()
    return page


def test_space_goes_to_the_window_unless_a_button_keeps_it(qtbot, page):
    spy = QSignalSpy(page.button.clicked)
    page.button.setFocus()
    qtbot.keyClick(page.button, Qt.Key.Key_Space)
    assert (page.used, spy.count()) == (["Space"], 0)
    keep_button_keys(page.button)
    qtbot.keyClick(page.button, Qt.Key.Key_Space)
    qtbot.keyClick(page.button, Qt.Key.Key_Return)
    assert (page.used, spy.count()) == (["Space"], 2)
    qtbot.keyClick(page.button, Qt.Key.Key_Right)
    assert page.used == ["Space", "Right"]


def test_arrows_choose_within_a_group(qtbot, page):
    buttons = page.segments.buttons
    keep_button_keys(*buttons.values())
    page.segments.set_current("stage")
    buttons["stage"].setFocus()
    qtbot.keyClick(buttons["stage"], Qt.Key.Key_Right)
    assert page.used == []
    assert buttons["step"].hasFocus()


@pytest.mark.parametrize("key", [Qt.Key.Key_Space, Qt.Key.Key_Return, Qt.Key.Key_Down])
def test_a_menu_opens_by_key(qtbot, page, key):
    seen = []

    def look_and_close() -> None:
        menu = QApplication.activePopupWidget()
        seen.append([action.text() for action in menu.actions()])
        menu.close()

    QTimer.singleShot(50, look_and_close)
    page.chip.setFocus()
    qtbot.keyClick(page.chip, key)
    qtbot.waitUntil(lambda: bool(seen), timeout=2000)
    assert (seen, page.used) == ([["flash"]], [])
