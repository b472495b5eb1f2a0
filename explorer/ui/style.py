"""A theme as Qt sees it: palette, style sheet and fonts. All distances lie on the 4-pixel grid."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor, QFont, QFontDatabase, QGuiApplication, QPalette
from PySide6.QtWidgets import QApplication

from explorer.ui.theme import DARK, LIGHT, THEMES, Theme

TEXT_PX = 13
SMALL_PX = 12
CHOICES = ("light", "dark", "system")


def theme_for(choice: str) -> Theme:
    """The theme of a choice: 'light', 'dark', or 'system', which is what the desktop prefers now."""
    if choice in THEMES:
        return THEMES[choice]
    dark = QGuiApplication.styleHints().colorScheme() == Qt.ColorScheme.Dark
    return DARK if dark else LIGHT


def ui_font(pixels: int = TEXT_PX, bold: bool = False) -> QFont:
    """The desktop's own interface font, with figures of equal width where it has them, so that readouts do not jump."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.GeneralFont)
    font.setPixelSize(pixels)
    font.setBold(bold)
    font.setFeature(QFont.Tag("tnum"), 1)
    return font


def number_font(pixels: int = SMALL_PX, bold: bool = False) -> QFont:
    """The desktop's fixed-width font, so that numbers do not move sideways while they change."""
    font = QFontDatabase.systemFont(QFontDatabase.SystemFont.FixedFont)
    font.setPixelSize(pixels)
    font.setBold(bold)
    return font


def contrast(one: str, other: str) -> float:
    """Contrast ratio of two colours '#rrggbb', 1 to 21, as WCAG 2 defines it."""
    lighter, darker = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (lighter + 0.05) / (darker + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[place : place + 2], 16) / 255 for place in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def palette(theme: Theme) -> QPalette:
    """Qt's colour roles from the theme's."""
    result = QPalette()
    role = QPalette.ColorRole
    for names, colour in (
        ((role.Window, role.AlternateBase), theme.window),
        ((role.Base, role.Button, role.ToolTipBase), theme.panel),
        ((role.WindowText, role.Text, role.ButtonText, role.ToolTipText, role.BrightText), theme.text),
        ((role.Highlight, role.Link, role.Accent), theme.focus),
        ((role.HighlightedText,), theme.inverse if theme is DARK else "#ffffff"),
        ((role.PlaceholderText,), theme.muted),
        ((role.Mid, role.Dark, role.Midlight, role.Light), theme.border),
    ):
        for name in names:
            result.setColor(name, QColor(colour))
    for name in (role.WindowText, role.Text, role.ButtonText):
        result.setColor(QPalette.ColorGroup.Disabled, name, QColor(theme.muted))
    return result


def stylesheet(theme: Theme) -> str:
    """What the palette cannot say: cards, chips, focus rings, menus."""
    return _SHEET.format(**{name: getattr(theme, name) for name in theme.__dataclass_fields__}, small=SMALL_PX)


def apply(app: QApplication, theme: Theme) -> None:
    """Give the whole application this theme."""
    app.setFont(ui_font())
    app.setPalette(palette(theme))
    app.setStyleSheet(stylesheet(theme))


_SHEET = """
QMainWindow, QDialog, QWidget#page {{ background: {window}; }}
QToolTip {{ background: {panel}; color: {text}; border: 1px solid {border}; padding: 4px; }}
QFrame#card, QFrame#bar, QFrame#popover {{ background: {panel}; border: 1px solid {border}; border-radius: 4px; }}
QFrame#bar {{ border-radius: 0; border-width: 0 0 1px 0; }}
QFrame#card > QLabel, QFrame#bar > QLabel {{ background: transparent; }}
QLabel#title {{ color: {muted}; font-size: {small}px; font-weight: 600; }}
QLabel#muted, QLabel#sentence {{ color: {muted}; font-size: {small}px; }}
QLabel#label {{ color: {muted}; }}
QLabel#wordmark {{ font-size: 16px; font-weight: 700; color: {text}; }}
QLabel#invalid {{ color: {wrong}; font-size: {small}px; }}
QLabel#badge {{ background: {caution}; color: {caution_text}; border-radius: 4px; padding: 0 4px;
    font-size: {small}px; }}
QFrame#notice {{ background: {panel}; border: 1px solid {border}; border-left: 4px solid {focus}; }}
QFrame#notice[kind="error"] {{ border-left-color: {wrong}; }}
QToolButton {{ background: transparent; border: 1px solid transparent; border-radius: 4px; padding: 3px;
    color: {text}; }}
QToolButton:hover {{ background: {faint}; }}
QToolButton:focus {{ border: 2px solid {focus}; padding: 2px; }}
QToolButton:disabled {{ color: {muted}; }}
QToolButton#segment {{ padding: 3px 7px; color: {muted}; }}
QToolButton#segment:focus {{ padding: 2px 6px; }}
QToolButton#segment:checked {{ background: {text}; color: {inverse}; }}
QToolButton#segment:disabled {{ background: transparent; color: {muted}; }}
QToolButton#primary {{ background: {text}; border-radius: 18px; padding: 7px; }}
QToolButton#primary:focus {{ border: 2px solid {focus}; padding: 6px; }}
QToolButton#primary:disabled {{ background: {faint}; }}
QToolButton::menu-indicator {{ image: none; width: 0; }}
QFrame#field {{ background: {panel}; border: 1px solid {border}; border-radius: 4px; }}
QFrame#field[bad="true"] {{ border: 1px solid {wrong}; }}
QFrame#field QLineEdit {{ border: 0; background: transparent; padding: 0; font-weight: 600; color: {text}; }}
QLineEdit, QSpinBox {{ background: {panel}; color: {text}; border: 1px solid {border}; border-radius: 4px; padding: 3px;
    selection-background-color: {focus}; selection-color: {panel}; placeholder-text-color: {muted}; }}
QSpinBox QLineEdit, QSpinBox QLineEdit:focus {{ border: 0; padding: 0; background: transparent; }}
QLineEdit:focus, QSpinBox:focus {{ border: 2px solid {focus}; padding: 2px; }}
QSpinBox::up-button, QSpinBox::down-button {{ width: 0; border: 0; }}
QToolButton#switch {{ padding: 0 3px; color: {focus}; font-size: {small}px; }}
QFrame#field QLineEdit:focus {{ border: 0; padding: 0; }}
QFrame#field[focused="true"] {{ border: 2px solid {focus}; }}
QPushButton {{ background: {panel}; color: {text}; border: 1px solid {border}; border-radius: 4px; padding: 4px 12px; }}
QPushButton:hover {{ background: {faint}; }}
QPushButton:focus {{ border: 2px solid {focus}; padding: 3px 11px; }}
QMenuBar {{ background: {panel}; color: {text}; padding: 0 4px; }}
QMenuBar::item {{ padding: 4px 8px; background: transparent; border-radius: 4px; }}
QMenuBar::item:selected {{ background: {faint}; }}
QMenu {{ background: {panel}; color: {text}; border: 1px solid {border}; padding: 4px; }}
QMenu::item {{ padding: 4px 24px 4px 28px; border-radius: 4px; }}
QMenu::item:selected {{ background: {faint}; color: {text}; }}
QMenu::item:disabled {{ color: {muted}; }}
QMenu::separator {{ height: 1px; background: {border}; margin: 4px; }}
QMenu::icon {{ padding-left: 8px; }}
QSplitter::handle {{ background: transparent; }}
QSplitter::handle:hover {{ background: {border}; }}
QScrollArea, QTextBrowser {{ background: {panel}; border: 0; }}
"""
