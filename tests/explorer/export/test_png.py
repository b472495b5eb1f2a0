"""Pictures of widgets: size, scale, what is written into them, and files that are whole or not there."""

from __future__ import annotations

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QLabel

from explorer.export.png import PictureError, picture, png_bytes, save_png


@pytest.fixture
def label(qtbot) -> QLabel:
    label = QLabel("tile")
    qtbot.addWidget(label)
    label.resize(60, 40)
    return label


@pytest.mark.parametrize("scale", [1.0, 1.5, 2.0])
def test_a_picture_has_the_logical_size_times_the_scale(label, scale):
    image = picture(label, scale)
    assert (image.width(), image.height()) == (60 * scale, 40 * scale)


def test_the_file_says_what_it_shows(label, tmp_path):
    path = tmp_path / "new" / "a.png"
    save_png(picture(label), path, {"Settings": 'input = "needle"', "Step": "13"})
    image = QImage(str(path))
    assert image.text("Settings") == 'input = "needle"'
    assert image.text("Step") == "13"


def test_a_picture_that_cannot_be_saved_leaves_the_old_file(label, tmp_path):
    with pytest.raises(PictureError, match=r"not saved") as caught:
        save_png(picture(label), tmp_path)
    assert "\n" not in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_the_same_picture_gives_the_same_bytes(label):
    assert png_bytes(picture(label, 2.0)) == png_bytes(picture(label, 2.0))
