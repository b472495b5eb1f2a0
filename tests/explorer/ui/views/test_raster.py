import numpy as np
import pytest
from PySide6.QtGui import QImage

from explorer.ui.theme import LIGHT
from explorer.ui.views.levels import Levels
from explorer.ui.views.raster import Marks, Window, nonfinite_kinds, picture, pool, sample

LEVELS = Levels(0.0, 255.0)


def pixels(image: QImage) -> np.ndarray:
    # a copy: the image may be gone before its pixels are looked at
    return np.frombuffer(image.constBits(), np.uint32).reshape(image.height(), image.width()).copy()


def test_pooling_keeps_the_largest_and_lets_nan_win():
    values = np.array([[1.0, 9.0, 2.0], [3.0, np.nan, -7.0], [5.0, 4.0, 6.0]])
    np.testing.assert_array_equal(pool(values, 2, 2, signed=False), [[np.nan, 2.0], [5.0, 6.0]])
    np.testing.assert_array_equal(pool(values, 2, 2, signed=True), [[np.nan, -7.0], [5.0, 6.0]])


@pytest.mark.parametrize("shape", [(7, 5), (64, 48), (100, 100)])
def test_sampling_small_arrays_takes_the_nearest_cell(shape):
    rng = np.random.default_rng(0)
    values = rng.normal(size=shape)
    seen = sample(values, Window(0, shape[0], 0, shape[1]), (100, 100)).expanded()
    rows = ((np.arange(100) + 0.5) * shape[0] / 100).astype(int)
    columns = ((np.arange(100) + 0.5) * shape[1] / 100).astype(int)
    np.testing.assert_array_equal(seen, values[rows][:, columns])


def test_sampling_large_arrays_shows_every_spike():
    values = np.zeros((1000, 777))
    values[123, 456] = 5.0
    seen = sample(values, Window(0, 1000, 0, 777), (200, 200)).expanded()
    spike = np.argwhere(seen == 5.0)
    assert spike.size
    np.testing.assert_allclose(spike.mean(axis=0), [123.5 / 5, 456.5 / 777 * 200], atol=1.5)


def test_a_window_shows_only_its_cells():
    values = np.arange(100.0).reshape(10, 10)
    seen = sample(values, Window(2, 4, 5, 9), (4, 8)).expanded()
    np.testing.assert_array_equal(seen, np.repeat(np.repeat(values[2:4, 5:9], 2, axis=0), 2, axis=1))


def test_pictures_colour_numbers_and_leave_hidden_cells_clear():
    values = np.array([[0.0, 100.0], [255.0, 7.0]])
    hidden = np.array([[False, False], [False, True]])
    image = picture(sample(values, Window(0, 2, 0, 2), (2, 2)), LEVELS, Marks.of(LIGHT), 1.0, hidden)
    table = LEVELS.table()
    np.testing.assert_array_equal(pixels(image), [[table[0], table[100]], [table[255], 0]])


def test_what_is_no_number_gets_marks_of_its_own():
    values = np.array([[np.nan, np.inf], [-np.inf, 3.0]])
    marks = Marks.of(LIGHT)
    image = pixels(picture(sample(values, Window(0, 2, 0, 2), (40, 40)), LEVELS, marks, 1.0))
    parts = [image[:20, :20], image[:20, 20:], image[20:, :20]]
    for part in parts:
        assert set(np.unique(part)) == {marks.ink, marks.ground}
    across, down = parts[1] == marks.ink, parts[2] == marks.ink
    assert (across == across[0]).all(), "+inf: upright lines"
    assert (down == down[:, :1]).all(), "-inf: level lines"
    assert (image[20:, 20:] == LEVELS.table()[3]).all()


def test_the_kinds_that_need_a_legend():
    values = np.array([[np.nan, np.inf], [-np.inf, 3.0]])
    seen = sample(values, Window(0, 2, 0, 2), (2, 2))
    assert nonfinite_kinds(seen, np.zeros((2, 2), bool)) == ["nan", "+inf", "-inf"]
    assert nonfinite_kinds(seen, np.array([[True, True], [False, False]])) == ["-inf"]
