"""Colours that can be read, icons that are sharp, keys that are not taken twice."""

from __future__ import annotations

import collections

import pytest
from PySide6.QtGui import QColor, QFontMetricsF, QKeySequence

from explorer.session.places import assets_directory
from explorer.ui import icons, style
from explorer.ui.actions import ACTIONS, keyboard_map
from explorer.ui.theme import DARK, LIGHT, THEMES

AA_TEXT, AA_PARTS = 4.5, 3.0
"""WCAG 2 success criteria 1.4.3 and 1.4.11."""


def test_contrast_is_that_of_wcag():
    assert style.contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert style.contrast("#777777", "#ffffff") == pytest.approx(4.478, abs=1e-3)


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_text_can_be_read_on_every_ground(theme):
    for ground in (theme.panel, theme.window, theme.faint):
        assert style.contrast(theme.text, ground) >= AA_TEXT
        assert style.contrast(theme.muted, ground) >= AA_TEXT
    assert style.contrast(theme.inverse, theme.text) >= AA_TEXT
    assert style.contrast(theme.caution_text, theme.caution) >= AA_TEXT
    assert style.contrast(theme.wrong, theme.panel) >= AA_TEXT
    assert style.contrast(theme.right, theme.panel) >= AA_TEXT
    assert style.contrast(theme.focus, theme.panel) >= AA_PARTS


def test_a_choice_of_theme_has_a_theme(qapp):
    assert style.theme_for("light") is LIGHT
    assert style.theme_for("dark") is DARK
    assert style.theme_for("system") in THEMES.values()


@pytest.mark.parametrize("name", sorted(path.stem for path in (assets_directory() / "icons").glob("*.svg")))
def test_every_icon_draws_in_the_colour_asked_for(qapp, name):
    image = icons.pixmap(name, "#ff0000", 20, 2.0).toImage()
    assert (image.width(), image.height(), image.devicePixelRatio()) == (40, 40, 2.0)
    drawn = [image.pixelColor(x, y) for x in range(40) for y in range(40) if image.pixelColor(x, y).alpha() == 255]
    assert drawn
    if name != "app":
        assert set(map(QColor.name, drawn)) == {"#ff0000"}


def test_every_action_has_its_icon_and_no_key_is_taken_twice(qapp):
    for spec in ACTIONS:
        if spec.icon:
            assert not icons.icon(spec.icon, LIGHT).isNull()
        assert all(not QKeySequence(key).isEmpty() for key in spec.keys)
    keys = collections.Counter(QKeySequence(key).toString() for spec in ACTIONS for key in spec.keys)
    assert [key for key, count in keys.items() if count > 1] == []


def test_tooltips_name_the_key_and_the_map_lists_it():
    listed = {words for _, rows in keyboard_map() for _, words in rows}
    for spec in ACTIONS:
        if spec.keys:
            assert spec.keys[0] in spec.tooltip
            assert spec.words in listed


def test_figures_have_one_width_so_that_numbers_do_not_jump(qapp):
    for font in (style.ui_font(), style.ui_font(bold=True), style.number_font()):
        assert len({QFontMetricsF(font).horizontalAdvance(figure) for figure in "0123456789"}) == 1


@pytest.mark.parametrize("theme", THEMES.values(), ids=THEMES)
def test_a_button_that_is_off_is_paler_but_still_there(theme):
    off = icons.disabled_colour(theme)
    assert 1.5 <= style.contrast(off, theme.panel) < style.contrast(theme.muted, theme.panel)


def test_the_windows_icon_has_a_picture_for_every_size_a_desktop_asks_for(qapp):
    sizes = {size.width() for size in icons.icon("app", LIGHT).availableSizes()}
    assert {16, 24, 32, 48, 64, 128, 256} <= sizes
