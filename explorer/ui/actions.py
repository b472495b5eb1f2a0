"""Every action of the window in one place: words, keys, icon. Menus, tooltips and the keyboard map use it."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ActionSpec:
    """``keys``: as QKeySequence reads them, the first is the one shown. ``checkable``: it is on or off."""

    id: str
    menu: str
    text: str
    keys: tuple[str, ...] = ()
    icon: str = ""
    tip: str = ""
    checkable: bool = False
    group: str = ""
    """Actions of one group are alternatives."""
    separated: bool = False
    """A line stands before it in its menu."""

    @property
    def words(self) -> str:
        """What it does."""
        return self.tip or self.text.replace("&", "").rstrip("…")

    @property
    def tooltip(self) -> str:
        """What it does, and the key that does it."""
        return f"{self.words} ({self.keys[0]})" if self.keys else self.words


MENUS = ("&File", "&Edit", "&View", "&Go", "&Help")
ACTIONS: tuple[ActionSpec, ...] = (
    ActionSpec("open", "&File", "&Open input or settings…", ("Ctrl+O",), "open", "Open .npz, .safetensors or .toml"),
    ActionSpec("save", "&File", "&Save settings…", ("Ctrl+S",), "save", "Save the settings as .toml"),
    ActionSpec("save-picture", "&File", "Save &picture…", ("Ctrl+Shift+S",), "camera",
               "Save a picture of the window as PNG", separated=True),
    ActionSpec("quit", "&File", "&Quit", ("Ctrl+Q",), separated=True),
    ActionSpec("undo", "&Edit", "&Undo", ("Ctrl+Z",), "undo", "Undo the last change of settings"),
    ActionSpec("redo", "&Edit", "&Redo", ("Ctrl+Shift+Z", "Ctrl+Y"), "redo", "Redo the change of settings"),
    ActionSpec("copy-picture", "&Edit", "&Copy picture", ("Ctrl+Shift+C",), "copy", "Copy a picture of the window",
               separated=True),
    ActionSpec("matrix-naive-scores", "&View", "Naive &scores S", ("Alt+1",), checkable=True, group="matrix"),
    ActionSpec("matrix-naive-probabilities", "&View", "Naive &probabilities P", ("Alt+2",), checkable=True,
               group="matrix"),
    ActionSpec("matrix-flash-probabilities", "&View", "The &kernel's own P", ("Alt+3",), checkable=True,
               group="matrix"),
    ActionSpec("matrix-difference", "&View", "&Difference", ("Alt+4",), checkable=True, group="matrix"),
    ActionSpec("theme", "&View", "Light or dark &theme", ("Ctrl+T",), "moon", "Change between light and dark",
               separated=True),
    ActionSpec("full-screen", "&View", "&Full screen", ("F11",), checkable=True),
    ActionSpec("layout", "&View", "&Reset the layout", ("Ctrl+0",), tip="Give every panel its first size"),
    ActionSpec("first", "&Go", "&First tile", ("Home",), "first"),
    ActionSpec("row-back", "&Go", "Row block &back", ("Shift+Left",), "row-back", "To the end of the row block before"),
    ActionSpec("back", "&Go", "&Step back", ("Left", ","), "step-back"),
    ActionSpec("play", "&Go", "&Play or pause", ("Space",), "play", checkable=True),
    ActionSpec("forward", "&Go", "Step for&ward", ("Right", "."), "step-forward"),
    ActionSpec("row-forward", "&Go", "&Row block forward", ("Shift+Right",), "row-forward",
               "To the end of the row block"),
    ActionSpec("last", "&Go", "&Last step", ("End",), "last"),
    ActionSpec("head-back", "&Go", "Pre&vious head", ("[",), "previous", separated=True),
    ActionSpec("head-forward", "&Go", "&Next head", ("]",), "next"),
    ActionSpec("grain-stage", "&Go", "By s&tage", ("1",), tip="Step by stage within a grid step", checkable=True,
               group="grain", separated=True),
    ActionSpec("grain-step", "&Go", "By t&ile", ("2",), tip="Step by grid step", checkable=True, group="grain"),
    ActionSpec("grain-row block", "&Go", "By row bloc&k", ("3",), tip="Step by row block", checkable=True,
               group="grain"),
    ActionSpec("visit-skipped", "&Go", "Visit s&kipped tiles", ("K",), tip="Stop at tiles that the mask empties too",
               checkable=True, separated=True),
    ActionSpec("stop", "&Go", "St&op what is under way", ("Esc",), "stop"),
    ActionSpec("restart", "&Go", "Restart the &engine", ("Ctrl+Shift+R",), tip="End the engine and start a new one"),
    ActionSpec("keys", "&Help", "&Keyboard map", ("F1",), "help"),
    ActionSpec("about", "&Help", "&About Tilescope"),
)  # fmt: skip
BY_ID = {spec.id: spec for spec in ACTIONS}


OTHER_KEYS = (
    ("Settings", (
        ("Alt+K, Alt+I, Alt+M, Alt+C", "Kernel, input, mask, chip"),
        ("Alt+Q, Alt+B, Alt+W", "Block q, block kv, window"),
        ("Alt+O", "More settings"), ("Up, Down", "Next power of two, in a block size"),
    )),
    ("In the matrix", (
        ("Ctrl+arrows, Up, Down", "Move the selected cell"), ("Enter", "Go to the step of the selected cell's tile"),
        ("+, -, 0", "Zoom in, zoom out, show all"),
    )),
)  # fmt: skip
"""Keys that belong to a part of the window and not to an action."""


def keyboard_map() -> list[tuple[str, list[tuple[str, str]]]]:
    """(menu or part of the window, [(keys, what they do)])."""
    actions = [
        (menu.replace("&", ""), [(" or ".join(a.keys), a.words) for a in ACTIONS if a.menu == menu and a.keys])
        for menu in MENUS
    ]
    return actions + [(part, list(keys)) for part, keys in OTHER_KEYS]
