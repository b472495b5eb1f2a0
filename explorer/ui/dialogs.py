"""The keyboard map, and what this program is."""

from __future__ import annotations

import html

from PySide6.QtWidgets import QDialog, QDialogButtonBox, QLabel, QMessageBox, QScrollArea, QVBoxLayout, QWidget

from explorer.session.versions import versions
from explorer.ui.actions import keyboard_map


def show_keys(parent: QWidget) -> None:
    """Open the keyboard map."""
    dialog = QDialog(parent)
    dialog.setWindowTitle("Keyboard map")
    label = QLabel(keys_html())
    label.setContentsMargins(12, 12, 12, 12)
    area = QScrollArea()
    area.setWidget(label)
    area.setWidgetResizable(True)
    buttons = QDialogButtonBox(QDialogButtonBox.StandardButton.Close)
    buttons.rejected.connect(dialog.reject)
    layout = QVBoxLayout(dialog)
    layout.addWidget(area)
    layout.addWidget(buttons)
    dialog.resize(480, 640)
    dialog.open()


def keys_html() -> str:
    """The keyboard map as a table."""
    rows = []
    for menu, actions in keyboard_map():
        rows.append(f"<tr><th align='left' colspan='2'>{menu}</th></tr>")
        rows += [f"<tr><td><b>{html.escape(k)}</b>&nbsp;&nbsp;</td><td>{html.escape(w)}</td></tr>" for k, w in actions]
    return f"<table cellpadding='3'>{''.join(rows)}</table>"


def show_about(parent: QWidget) -> None:
    """Open the About box, with the releases at work."""
    releases = "<br>".join(f"{name} {version}" for name, version in versions().items())
    box = QMessageBox(parent)
    box.setWindowTitle("About Tilescope")
    box.setText(
        "<b>Tilescope</b><br>Drives a Pallas kernel tile by tile. Flash attention is exact: it is not an "
        f"approximation, and every step here can be held against float64.<br><br>{releases}"
    )
    box.open()
