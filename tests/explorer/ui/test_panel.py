"""A panel names its view, says in words what it shows, and does not jump while the words change."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QRectF, Qt
from PySide6.QtWidgets import QApplication, QLabel

from explorer.ui.panel import Panel
from explorer.ui.views import View
from explorer.ui.views.sheet import Sheet

pytestmark = pytest.mark.qt_log_ignore("This plugin does not support", extend=True)

LONG = "Query rows 48–63 meet keys 32–47. This is the ninth of 21 tiles; the mask empties 15, which are skipped."


class Shown(View):
    """Always has something to show."""

    def empty_text(self) -> str:
        return ""

    def draw(self, sheet: Sheet, area: QRectF) -> None:
        sheet.fill(area, self.theme.faint)

    def words(self) -> str:
        return LONG


@pytest.fixture
def panel(qtbot) -> Panel:
    panel = Panel("Stages of this step", Shown())
    qtbot.addWidget(panel)
    panel.resize(240, 300)
    panel.show()
    return panel


def test_the_title_stands_over_the_view_and_controls_beside_it(panel):
    button = QLabel("more")
    panel.add_header(button)
    QApplication.processEvents()
    assert panel.title.text() == "STAGES OF THIS STEP"
    assert button.geometry().left() > panel.title.geometry().right()
    assert panel.body.geometry().top() >= panel.title.geometry().bottom()


def test_the_sentence_is_whole_and_within_the_card(panel):
    panel.set_sentence(LONG)
    QApplication.processEvents()
    label = panel.sentence
    assert label.height() >= label.heightForWidth(label.width())
    assert panel.rect().contains(label.geometry())
    assert label.heightForWidth(label.width()) > 1.5 * label.fontMetrics().height()


def test_a_shorter_sentence_leaves_the_view_its_size(panel):
    panel.set_sentence(LONG)
    QApplication.processEvents()
    height = panel.body.height()
    panel.set_sentence("Short.")
    QApplication.processEvents()
    assert panel.body.height() == height


def test_markup_in_a_sentence_stays_text(panel):
    panel.set_sentence("Selected: row 3, “<s>”.")
    assert panel.sentence.text() == "Selected: row 3, “<s>”."
    assert panel.sentence.textFormat() == Qt.TextFormat.PlainText
