"""The classic flash picture: the matrix under the kernel's tiles, Q, K and V around it, O and its error beside."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import ClassVar, Literal

from PySide6.QtCore import QRectF
from PySide6.QtWidgets import QWidget

from explorer.link.messages import Matrix, Strips
from explorer.ui.theme import Theme
from explorer.ui.views import matrix_geometry as plan, matrix_overlay as overlay, matrix_picture as pictures
from explorer.ui.views.base import View
from explorer.ui.views.cache import Kept, Layer, Same
from explorer.ui.views.legend import LABELS
from explorer.ui.views.matrix_words import known_tile, matrix_sentence
from explorer.ui.views.raster import Marks, Window, draw_image
from explorer.ui.views.segments import Choice, Segments
from explorer.ui.views.sheet import RIGHT, Sheet
from explorer.ui.views.shown import SCORE, shown_output, shown_stage
from explorer.ui.views.tiles import TileMap, known_tiles
from explorer.units import number_text

KINDS = (
    Choice("naive-scores", "Naive scores S", "S", "Scores of naive attention, which builds the whole matrix"),
    Choice("naive-probabilities", "Naive probabilities P", "P", "Probabilities of naive attention, on a log scale"),
    Choice("flash-probabilities", "P of flash", "P flash", "P as the kernel computed it, tile by tile"),
    Choice("difference", "Difference", "Diff", "P of flash minus P of naive"),
)
STRIPS: tuple[Literal["q", "k", "v"], ...] = ("q", "k", "v")


class MatrixCanvas(View):
    """The picture of a state; ``MatrixView`` adds the hand that works with it."""

    watches: ClassVar[tuple[str, ...]] = (
        "configured",
        "snapshot",
        "matrix",
        "matrix_kind",
        "strips",
        "cursor",
        "selection",
        "inputs",
        "message",
    )
    name = "Attention matrix"
    smallest = (420, 320)
    preferred = (620, 420)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.kinds = Segments(KINDS, self)
        self.kinds.set_theme(self.theme)
        self.kinds.set_current(self.state.matrix_kind)
        self.kinds.chosen.connect(self.matrix_kind_chosen)
        self.shown_window: Window | None = None
        self._lengths = (0, 0)
        self._tiles: Kept[TileMap] = Kept()
        self._levels: Kept[pictures.StripLevels] = Kept()
        self._kinds: list[str] = []
        self._layers = {name: Layer() for name in ("matrix", "q", "k", "v")}

    # ------------------------------------------------------------ state

    def changed(self, parts: frozenset[str]) -> None:
        self.kinds.set_current(self.state.matrix_kind)
        configured = self.state.configured
        lengths = (configured.problem.q_len, configured.problem.kv_len) if configured else (0, 0)
        if lengths != self._lengths:
            self._lengths, self.shown_window = lengths, None

    def restyle(self) -> None:
        for layer in self._layers.values():
            layer.clear()

    def set_theme(self, theme: Theme) -> None:
        super().set_theme(theme)
        self.kinds.set_theme(theme)

    def words(self) -> str:
        return matrix_sentence(self.state)

    @property
    def tiles(self) -> TileMap:
        configured, snapshot = self.state.configured, self.state.snapshot
        assert configured is not None
        assert snapshot is not None
        key = (Same(configured), snapshot.batch, snapshot.head)
        return self._tiles.get(key, lambda: TileMap.of(configured, snapshot.batch, snapshot.head))

    @property
    def matrix(self) -> Matrix | None:
        """The matrix of the state, where it is one of the lengths on show."""
        matrix = self.state.matrix
        if matrix is None or matrix.values.shape != tuple(-(-length // matrix.pool) for length in self._lengths):
            return None
        return matrix

    @property
    def strips(self) -> Strips | None:
        """The strips of the state, where they are of the lengths on show."""
        strips = self.state.strips
        return strips if strips is not None and (len(strips.q), len(strips.k)) == self._lengths else None

    @property
    def strip_levels(self) -> pictures.StripLevels | None:
        strips = self.strips
        return None if strips is None else self._levels.get(Same(strips), lambda: pictures.StripLevels.of(strips))

    # ------------------------------------------------------------ painting

    def geometry_in(self, area: QRectF) -> plan.Geometry:
        """Where everything lies when painted into ``area``."""
        small = self.fonts.height("small")
        top = area.top() + self.kinds.sizeHint().height() + 2 * plan.GAP
        room = QRectF(area.left() + 2, top, area.width() - 4, area.bottom() - top - 2)
        window = self.shown_window or plan.whole(*self._lengths)
        tiles = self.tiles.states.shape
        sizes = plan.Sizes(
            line=small,
            row_label=self.fonts.width(str(tiles[0]), "small_bold") + 2,
            column_label=small,
            scale=self._scale_width(),
            error=max(self.fonts.width("0.0e-00", "small_bold") + 6, self.fonts.width("|error|")),
            output=self.fonts.width("O so far"),
        )
        result = plan.arrange(room, window, sizes)
        return self._with_tokens(result, room, sizes)

    def _scale_width(self) -> float:
        """Room for the longest text beside or under the colour bars."""
        levels, matrix = self.strip_levels, self.matrix
        texts = [f"x = {text}" for text in overlay.strip_lines(levels)] if levels else []
        numbers = [number for _, number in pictures.matrix_levels(matrix).ticks()] if matrix else []
        titles = overlay.scale_titles(matrix)[:1] if matrix else []
        beside = [18 + self.fonts.width(text) for text in (*numbers, *LABELS.values())]
        return max(self.fonts.width("Q, K, V, O"), *map(self.fonts.width, [*texts, *titles]), *beside) + 1

    def _with_tokens(self, result: plan.Geometry, room: QRectF, sizes: plan.Sizes) -> plan.Geometry:
        """Once cells are as large as letters, make room for the tokens of the rows and columns on show."""
        inputs, window = self.state.inputs, result.window
        if inputs is None or max(result.cell_size) < sizes.line:
            return result
        wide = self._widest(inputs.q_tokens[int(window.row0) : int(window.row1) + 1])
        high = self._widest(inputs.kv_tokens[int(window.column0) : int(window.column1) + 1])
        rows = bool(wide) and result.cell_size[0] >= 1.05 * sizes.line
        columns = bool(high) and result.cell_size[1] >= 1.05 * sizes.line
        if not rows and not columns:
            return result
        wanted = replace(
            sizes, row_label=wide if rows else sizes.row_label, column_label=high if columns else sizes.column_label
        )
        fitted = plan.arrange(room, window, wanted)
        # the labels take room themselves: drop those of an axis whose cells have become too small for them
        rows, columns = rows and fitted.cell_size[0] >= sizes.line, columns and fitted.cell_size[1] >= sizes.line
        return replace(fitted if rows or columns else result, row_tokens=rows, column_tokens=columns)

    def _widest(self, tokens: tuple[str, ...]) -> float:
        return min(max((self.fonts.width(token) for token in tokens), default=0.0), 6 * self.fonts.height("small"))

    def draw(self, sheet: Sheet, area: QRectF) -> None:
        state, geometry = self.state, self.geometry_in(area)
        snapshot, tiles, stage = state.snapshot, self.tiles, shown_stage(state)
        assert snapshot is not None
        inputs = state.inputs
        scene = overlay.Scene(
            snapshot,
            stage,
            tiles,
            geometry,
            state.selection,
            inputs.q_tokens if inputs else (),
            inputs.kv_tokens if inputs else (),
        )
        self._draw_head(sheet, area, geometry)
        self._draw_pictures(sheet, geometry, tiles, stage)
        shown = shown_output(snapshot, stage)
        levels = self.strip_levels
        sheet.box(geometry.output, sheet.theme.border)
        if levels is not None:
            image = pictures.output_image(shown, levels.v, geometry, Marks.of(sheet.theme), sheet.ratio)
            draw_image(sheet.painter, geometry.output, image)
        if self.matrix is None:
            self._draw_no_matrix(sheet, geometry.matrix)
        else:
            overlay.draw_veil(sheet, scene)
        if known_tile(snapshot):
            overlay.draw_bands(sheet, scene)
        overlay.draw_error(sheet, scene, shown)
        overlay.draw_selection(sheet, scene)
        overlay.draw_labels(sheet, scene)
        overlay.draw_scales(sheet, scene, self.matrix, levels, self._kinds)

    def _draw_no_matrix(self, sheet: Sheet, rect: QRectF) -> None:
        """Why the middle is empty: the message of the state where there is one."""
        said = self.state.message if self.state.message_kind == "error" else ""
        room = rect.adjusted(2 * plan.GAP, 2 * plan.GAP, -2 * plan.GAP, -2 * plan.GAP)
        sheet.wrapped(room, said or "There is no picture of this matrix yet.", sheet.theme.muted)

    def _draw_head(self, sheet: Sheet, area: QRectF, geometry: plan.Geometry) -> None:
        """Zoom at the right of the selector; in an export, where there is no selector, the title of the matrix."""
        room = QRectF(area.left() + 2, area.top(), area.width() - 4, self.kinds.sizeHint().height())
        if not sheet.on_screen:
            title = self.matrix.title if self.matrix else ""
            sheet.fitting(room, [title], kind="bold")
        factor = max(self._lengths[0] / geometry.window.rows, self._lengths[1] / geometry.window.columns)
        if factor > 1.001:
            left = min(self.kinds.full_width() + 8, room.width())
            free = room.adjusted(left, 0, 0, 0)
            zoom = number_text(factor)
            sheet.fitting(free, [f"zoom {zoom} × (0 fits)", f"{zoom} ×"], sheet.theme.muted, align=RIGHT)

    def _draw_pictures(self, sheet: Sheet, geometry: plan.Geometry, tiles: TileMap, stage: int) -> None:
        state, matrix = self.state, self.matrix
        assert state.snapshot is not None
        marks = Marks.of(sheet.theme)
        known = known_tiles(matrix, tiles, state.snapshot.step, stage >= SCORE) if matrix else None

        def paint_matrix(inner: Sheet) -> None:
            if matrix is None:
                inner.fill(geometry.matrix, inner.theme.faint)
                return
            pictures.draw_ground(inner, geometry, tiles)
            if known is not None:
                pictures.draw_unknown(inner, geometry, tiles, known)
            found = pictures.matrix_image(matrix, geometry, tiles, known, marks, inner.ratio)
            draw_image(inner.painter, geometry.matrix, found.image)
            self._kinds = found.kinds

        key = (Same(matrix), Same(tiles), geometry.window, None if known is None else known.tobytes())
        self._layers["matrix"].draw(sheet, geometry.matrix, key, paint_matrix)
        self._draw_strips(sheet, geometry)
        pictures.draw_grid(sheet, geometry, tiles)

    def _draw_strips(self, sheet: Sheet, geometry: plan.Geometry) -> None:
        strips, levels = self.strips, self.strip_levels
        for name in STRIPS:
            rect: QRectF = getattr(geometry, name)
            sheet.box(rect, sheet.theme.border)
            if strips is not None and levels is not None:
                paint = partial(pictures.draw_strip, geometry=geometry, name=name, strips=strips, levels=levels)
                self._layers[name].draw(sheet, rect, (Same(strips), geometry.window), paint)
