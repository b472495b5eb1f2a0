"""Colours, type and spacing of the window: one colour per role (Okabe-Ito), in a light and a dark theme."""

from __future__ import annotations

from dataclasses import dataclass

SPACING = 4
"""All distances are multiples of this many logical pixels."""


@dataclass(frozen=True)
class Theme:
    """Colours as '#rrggbb'. Roles keep their hue in each theme; red ('wrong') is only for what is wrong."""

    name: str
    window: str
    panel: str
    border: str
    text: str
    muted: str
    faint: str
    """Grid lines, tracks and things to come."""
    inverse: str
    """Text on 'text' as a background."""
    focus: str
    right: str
    wrong: str
    caution: str
    caution_text: str
    q: str
    k: str
    v: str
    scores: str
    softmax: str
    acc: str

    def role(self, role: str) -> str:
        """Colour of a ``messages.Role``; unknown roles are muted."""
        return {
            "q": self.q,
            "k": self.k,
            "v": self.v,
            "scores": self.scores,
            "softmax": self.softmax,
            "acc": self.acc,
            "output": self.acc,
        }.get(role, self.muted)


LIGHT = Theme(
    name="light",
    window="#eef1f4",
    panel="#ffffff",
    border="#d7dde3",
    text="#1d2733",
    muted="#4f5b67",
    faint="#e3e8ed",
    inverse="#ffffff",
    focus="#0072b2",
    right="#00714f",
    wrong="#c81e1e",
    caution="#fff3d1",
    caution_text="#7a4b00",
    q="#0072b2",
    k="#e69f00",
    v="#009e73",
    scores="#cc79a7",
    softmax="#56b4e9",
    acc="#5b6770",
)
DARK = Theme(
    name="dark",
    window="#14181d",
    panel="#1d232a",
    border="#353e48",
    text="#eef2f6",
    muted="#a9b4bf",
    faint="#2b333c",
    inverse="#14181d",
    focus="#56b4e9",
    right="#3ecf9f",
    wrong="#ff6b6b",
    caution="#4a3a10",
    caution_text="#ffdf95",
    q="#3a9bd9",
    k="#e69f00",
    v="#1fb88c",
    scores="#d98cb5",
    softmax="#56b4e9",
    acc="#9aa7b2",
)
THEMES = {theme.name: theme for theme in (LIGHT, DARK)}
