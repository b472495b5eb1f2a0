"""The main window: the Step page, its menus, and what a user expects of a desktop program."""

from __future__ import annotations

from pathlib import Path
from typing import cast

from PySide6.QtCore import QByteArray, QSettings, Qt
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QDragEnterEvent, QDropEvent, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QApplication, QFileDialog, QMainWindow, QMenu

from explorer.export.png import PictureError, picture, save_png
from explorer.session import cursor as cursors
from explorer.session.config import ConfigurationError, load, save
from explorer.session.cursor import Grain
from explorer.session.state import StepState
from explorer.session.versions import versions
from explorer.ui import icons, style
from explorer.ui.actions import ACTIONS, MENUS, ActionSpec
from explorer.ui.controller import Controller
from explorer.ui.dialogs import show_about, show_keys
from explorer.ui.step_page import StepPage
from explorer.ui.theme import DARK, LIGHT, Theme

OPENABLE = (".npz", ".safetensors", ".toml")
_FILES = "Inputs and settings (*.npz *.safetensors *.toml)"
FIRST_SIZE = (1440, 900)
FRAME = (8, 40)
"""Logical pixels kept free for what a window manager draws around the window."""
SMALLEST_SIZE = (1180, 720)


class Window(QMainWindow):
    """``settings``: where size, layout and theme are remembered; None remembers nothing (for pictures and tests)."""

    def __init__(self, controller: Controller, settings: QSettings | None = None, theme: Theme | None = None) -> None:
        super().__init__()
        self.controller = controller
        self._settings = settings
        self.page = StepPage(controller)
        self.setCentralWidget(self.page)
        self.page.setFocus()
        self.setAcceptDrops(True)
        self.setMinimumSize(*SMALLEST_SIZE)
        self.actions_by_id: dict[str, QAction] = {}
        self._recent_menu = QMenu("Open &recent", self)
        self._make_menus()
        self.page.transport.action.connect(lambda name: self.actions_by_id[name].trigger())
        self.page.settings.open_file_requested.connect(self._open)
        self._first_layout = self.page.layout_state()
        self.set_theme(theme or self._remembered_theme())
        self._remembered_layout()
        controller.state_changed.connect(self.show_state)
        self.show_state(controller.state)

    # ---------------------------------------------------------------- state

    def show_state(self, state: StepState) -> None:
        """Show a state in every part."""
        self.page.show_state(state)
        title = state.inputs.title if state.inputs is not None else ""
        self.setWindowTitle(f"{title} — Tilescope" if title else "Tilescope")
        self._check(f"matrix-{state.matrix_kind}", True)
        self._check(f"grain-{state.cursor.grain}", True)
        self._check("play", state.playing)
        self.actions_by_id["undo"].setEnabled(bool(self.controller.session.undo_text))
        self.actions_by_id["undo"].setText(self.controller.session.undo_text or "&Undo")
        self.actions_by_id["redo"].setEnabled(self.controller.session.can_redo)

    def set_theme(self, theme: Theme) -> None:
        """Change colours everywhere."""
        self.theme = theme
        application = QApplication.instance()
        if isinstance(application, QApplication):
            style.apply(application, theme)
        self.page.set_theme(theme)
        self.setWindowIcon(icons.icon("app", theme))
        for spec in ACTIONS:
            if spec.icon:
                self.actions_by_id[spec.id].setIcon(icons.icon(spec.icon, theme))

    # ---------------------------------------------------------------- menus

    def _make_menus(self) -> None:
        groups: dict[str, QActionGroup] = {}
        menus = {name: self.menuBar().addMenu(name) for name in MENUS}
        for spec in ACTIONS:
            if spec.separated:
                menus[spec.menu].addSeparator()
            action = self._make_action(spec)
            menus[spec.menu].addAction(action)
            if spec.group:
                groups.setdefault(spec.group, QActionGroup(self)).addAction(action)
            if spec.id == "open":
                menus[spec.menu].addMenu(self._recent_menu)
        self._recent_menu.aboutToShow.connect(self._fill_recent)

    def _make_action(self, spec: ActionSpec) -> QAction:
        action = QAction(spec.text, self)
        action.setShortcuts([QKeySequence(keys) for keys in spec.keys])
        action.setToolTip(spec.tooltip)
        action.setStatusTip(spec.words)
        action.setCheckable(spec.checkable)
        action.triggered.connect(lambda checked: self._do(spec.id, checked))
        self.actions_by_id[spec.id] = action
        self.addAction(action)
        return action

    def _check(self, id_: str, checked: bool) -> None:
        if id_ in self.actions_by_id:
            self.actions_by_id[id_].setChecked(checked)

    def _do(self, id_: str, checked: bool) -> None:
        """Carry out an action of the table."""
        controller = self.controller
        kind, _, choice = id_.partition("-")
        if kind == "matrix":
            controller.choose_matrix(choice)  # type: ignore[arg-type]
        elif kind == "grain":
            controller.navigator.choose_grain(cast(Grain, choice))
        else:
            self._handlers(checked)[id_]()

    def _handlers(self, checked: bool):
        controller, go = self.controller, self.controller.navigator
        move = go.move
        return {
            "open": self._open, "save": self._save, "save-picture": self._save_picture, "quit": self.close,
            "undo": controller.undo, "redo": controller.redo, "copy-picture": self.copy_picture,
            "theme": lambda: self.set_theme(LIGHT if self.theme.name == "dark" else DARK),
            "full-screen": lambda: self.showFullScreen() if checked else self.showNormal(),
            "layout": lambda: self.page.restore_layout(self._first_layout),
            "first": lambda: move(lambda c, k: cursors.first(c, k, go.visit_skipped)),
            "last": lambda: move(cursors.last),
            "row-back": lambda: go.move_by("row block", cursors.backward),
            "row-forward": lambda: go.move_by("row block", cursors.forward),
            "back": go.backward, "forward": go.forward, "play": lambda: go.play(checked),
            "head-back": lambda: go.go_to_next_head(-1), "head-forward": lambda: go.go_to_next_head(1),
            "visit-skipped": lambda: setattr(go, "visit_skipped", checked), "stop": controller.stop,
            "restart": controller.restart_engine, "keys": lambda: show_keys(self), "about": lambda: show_about(self),
        }  # fmt: skip

    def _fill_recent(self) -> None:
        self._recent_menu.clear()
        for name in self.controller.session.recent.names:
            action = self._recent_menu.addAction(name)
            action.triggered.connect(lambda _=False, name=name: self.controller.session.open_input(name))
        self._recent_menu.setEnabled(bool(self._recent_menu.actions()))

    # ---------------------------------------------------------------- files

    def open_path(self, path: str) -> None:
        """Take a settings file or an input file."""
        if not path.lower().endswith(OPENABLE):
            self.controller.report(f"{Path(path).name} cannot be opened: use {', '.join(OPENABLE)}")
        elif path.lower().endswith(".toml"):
            try:
                self.controller.session.set_configuration(load(path))
            except ConfigurationError as error:
                self.controller.report(str(error))
        else:
            self.controller.session.open_input(path)

    def _open(self) -> None:
        path, _ = QFileDialog.getOpenFileName(self, "Open an input or settings", "", _FILES)
        if path:
            self.open_path(path)

    def _save(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Save settings", "tilescope.toml", "Settings (*.toml)")
        if path:
            try:
                save(self.controller.session.configuration, path)
            except (ConfigurationError, OSError) as error:
                self.controller.report(f"settings not saved: {error}")

    def _save_picture(self) -> None:
        path, _ = QFileDialog.getSaveFileName(self, "Save picture", "tilescope.png", "Pictures (*.png)")
        if path:
            try:
                save_png(picture(self, self.devicePixelRatioF()), path, picture_texts(self.controller.state))
            except PictureError as error:
                self.controller.report(str(error))

    def copy_picture(self) -> None:
        """Put a picture of the window on the clipboard."""
        QGuiApplication.clipboard().setImage(picture(self, self.devicePixelRatioF()))
        self.controller.report("A picture of the window is on the clipboard.", "info")

    def dragEnterEvent(self, event: QDragEnterEvent) -> None:
        if any(url.isLocalFile() for url in event.mimeData().urls()):
            event.acceptProposedAction()

    def dropEvent(self, event: QDropEvent) -> None:
        files = [url.toLocalFile() for url in event.mimeData().urls() if url.isLocalFile()]
        if files:
            event.acceptProposedAction()
            self.open_path(files[0])

    # ---------------------------------------------------------------- memory of the window

    def _remembered_theme(self) -> Theme:
        name = self._settings.value("theme", "") if self._settings is not None else ""
        dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
        return {"light": LIGHT, "dark": DARK}.get(str(name), DARK if dark else LIGHT)

    def _remembered_layout(self) -> None:
        room = self.screen().availableGeometry().size()
        self.resize(min(FIRST_SIZE[0], room.width() - FRAME[0]), min(FIRST_SIZE[1], room.height() - FRAME[1]))
        if self._settings is None:
            return
        geometry, layout = self._settings.value("geometry"), self._settings.value("layout")
        if isinstance(geometry, QByteArray):
            self.restoreGeometry(geometry)
        if isinstance(layout, list):
            self.page.restore_layout(layout)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._settings is not None:
            self._settings.setValue("geometry", self.saveGeometry())
            self._settings.setValue("layout", self.page.layout_state())
            self._settings.setValue("theme", self.theme.name)
        self.controller.close()
        super().closeEvent(event)


def picture_texts(state: StepState) -> dict[str, str]:
    """What a picture's file says of it: settings, step and releases."""
    from explorer.session.config import dumps

    jax_version = state.engine.split(" ")[1] if state.engine.startswith("JAX ") else ""
    step = state.snapshot.step if state.snapshot is not None else None
    return {
        "Software": " ".join(f"{name} {version}" for name, version in versions(jax_version).items()),
        "Settings": dumps(state.configuration),
        "Step": "" if step is None else str(step),
    }
