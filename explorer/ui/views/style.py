"""Style sheets of the few Qt widgets inside the views."""

from __future__ import annotations

from explorer.ui.theme import SPACING, Theme


def scroll_bars(theme: Theme) -> str:
    """Thin bars without arrows, in the theme's colours, for both orientations."""
    return (
        f"QScrollBar {{ background: {theme.panel}; border: 0; }}"
        f"QScrollBar:vertical {{ width: {2 * SPACING}px; }} QScrollBar:horizontal {{ height: {2 * SPACING}px; }}"
        f"QScrollBar::handle {{ background: {theme.border}; border-radius: {SPACING}px; }}"
        "QScrollBar::handle:vertical { min-height: 24px; } QScrollBar::handle:horizontal { min-width: 24px; }"
        "QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }"
        "QScrollBar::add-page, QScrollBar::sub-page { background: none; }"
        f"QAbstractScrollArea::corner {{ background: {theme.panel}; border: 0; }}"
    )


def table(theme: Theme) -> str:
    """A flat table: no frame, a line under the header."""
    return (
        f"QTableView {{ border: 0; background: {theme.panel}; }}"
        f"QHeaderView {{ background: {theme.panel}; }}"
        f"QHeaderView::section {{ background: {theme.panel}; color: {theme.muted}; border: 0;"
        f" border-bottom: 1px solid {theme.border}; padding: 2px {SPACING}px; }}"
    )
