"""Pictures without a screen: a window is built, driven to a step, and drawn when it has settled."""

from __future__ import annotations

import time
from collections.abc import Sequence

from PySide6.QtCore import QEventLoop
from PySide6.QtWidgets import QApplication

from explorer.export.png import PictureError, painted, picture, save_png
from explorer.session import cursor as cursors
from explorer.session.config import Configuration
from explorer.session.cursor import Cursor
from explorer.session.session import Session
from explorer.session.state import StepState
from explorer.session.targets import check_target
from explorer.ui.bridge import ClientFactory, local_or
from explorer.ui.controller import Controller
from explorer.ui.step_page import VIEW_NAMES
from explorer.ui.theme import THEMES
from explorer.ui.window import Window, picture_texts

VIEWS = ("window", *VIEW_NAMES)
PATIENCE_S = 300.0


def shoot(
    configuration: Configuration, step: int | None, view: str, theme: str, size: tuple[int, int], scale: float,
    out: str, engine: Sequence[str] | None = None, factory: ClientFactory | None = None,
) -> None:  # fmt: skip
    """Write a PNG of the window or of one view of it.

    step: grid step from 0; None is one in the middle. size: logical pixels; the file has ``scale`` times as many.
    Raises PictureError or TargetError with one line for what cannot be shown or saved.
    """
    if view not in VIEWS:
        raise PictureError(f"there is no view '{view}': use {', '.join(VIEWS)}")
    if theme not in THEMES:
        raise PictureError(f"there is no theme '{theme}': use {', '.join(THEMES)}")
    check_target(out, ".png")
    application = QApplication.instance() or QApplication(["tilescope"])
    assert isinstance(application, QApplication)
    controller = Controller(Session(StepState(configuration=configuration)), factory or local_or(engine))
    window = Window(controller, theme=THEMES[theme])
    try:
        window.resize(*size)
        window.show()
        controller.start()
        _settle(application, controller)
        _go_to(application, controller, step)
        application.processEvents()
        whole = view == "window"
        image = picture(window, scale) if whole else painted(window.page.views[view].draw_on, size, scale)
        save_png(image, out, picture_texts(controller.state))
    finally:
        window.close()


def _go_to(application: QApplication, controller: Controller, step: int | None) -> None:
    configured = controller.state.configured
    if step is None or configured is None:
        return
    if not configured.driven:
        raise PictureError(configured.reason_not_driven)
    if step >= configured.steps:
        raise PictureError(f"step {step} is not there: this run has steps 0 to {configured.steps - 1}")
    controller.navigator.go(cursors.go_to(Cursor(), configured, step))
    _settle(application, controller)


def _settle(application: QApplication, controller: Controller) -> None:
    """Wait until the picture is whole and measured. Raises PictureError where that fails or lasts too long."""
    deadline = time.monotonic() + PATIENCE_S
    while not (controller.settled and controller.measured):
        if controller.state.message_kind == "error":
            raise PictureError(controller.state.message)
        if time.monotonic() > deadline:
            raise PictureError(f"nothing to show after {PATIENCE_S:.0f} s")
        application.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 50)
        time.sleep(0.005)
    if controller.state.configured is None:
        raise PictureError("no kernel was configured")
