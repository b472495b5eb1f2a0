import numpy as np
import pytest

from explorer.ui.views.levels import Levels, colour_table, dark_diverging_table, symmetric_levels


def channels(packed: np.ndarray) -> np.ndarray:
    return np.stack([packed >> 16 & 255, packed >> 8 & 255, packed & 255], axis=-1).astype(int)


def test_log_levels_place_decades_evenly():
    levels = Levels(1e-4, 1.0, "log")
    values = np.array([1e-5, 1e-4, 1e-3, 1e-2, 1.0, 3.0], np.float32)
    np.testing.assert_allclose(levels.positions(values), [0, 0, 0.25, 0.5, 1, 1], atol=1e-6)
    assert levels.ticks() == [(0.0, "1e-4"), (0.25, "1e-3"), (0.5, "1e-2"), (0.75, "1e-1"), (1.0, "1")]


def test_linear_and_signed_levels():
    np.testing.assert_allclose(Levels(-2.0, 6.0).positions(np.array([-3.0, 0.0, 6.0])), [0, 0.25, 1])
    assert Levels(-2.5, 2.5, "diverging").ticks() == [(0.0, "-2.50"), (0.5, "0"), (1.0, "2.50")]


def test_a_value_gets_the_entry_of_its_position():
    levels = Levels(0.0, 255.0)
    np.testing.assert_array_equal(levels.colours(np.array([0.0, 7.0, 255.0])), colour_table("viridis")[[0, 7, 255]])


def test_symmetric_levels_are_rounded_up_to_two_digits():
    values = np.concatenate([np.linspace(-3.14, 3.14, 1001), [np.nan, np.inf]])
    assert symmetric_levels(values) == Levels(-3.2, 3.2, "diverging")
    assert symmetric_levels(np.zeros(4)) == Levels(-1.0, 1.0, "diverging")
    assert symmetric_levels(np.full(4, 0.0123)) == Levels(pytest.approx(-0.013), pytest.approx(0.013), "diverging")


@pytest.mark.parametrize("table", [colour_table("CET-D2"), dark_diverging_table()])
def test_signed_colours_are_neutral_at_zero_and_never_red(table):
    rgb = channels(table)
    red, green, blue = rgb.T
    # near zero there is hardly a hue; nowhere does red dominate both others
    assert np.ptp(rgb[127:129], axis=1).max() <= 6
    assert not ((red > green + 40) & (red > blue + 40)).any()


def test_the_dark_map_is_darkest_at_zero():
    brightness = channels(dark_diverging_table()).sum(axis=1)
    assert brightness[127] < 170
    assert brightness[0] > 2 * brightness[127]
    assert brightness[255] > 2 * brightness[127]
