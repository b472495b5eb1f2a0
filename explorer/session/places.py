"""Where Tilescope keeps its files on each platform, and where its shipped assets are."""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path

import explorer

_NAME = "tilescope"


def config_directory(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """For settings and recent inputs: XDG_CONFIG_HOME, APPDATA or ~/Library/Application Support. Not created here."""
    environment = os.environ if environment is None else environment
    if platform == "win32":
        return _from(environment, "APPDATA", ("AppData", "Roaming")) / _NAME
    if platform == "darwin":
        return Path.home() / "Library" / "Application Support" / _NAME
    return _from(environment, "XDG_CONFIG_HOME", (".config",)) / _NAME


def state_directory(environment: Mapping[str, str] | None = None, platform: str = sys.platform) -> Path:
    """For logs: XDG_STATE_HOME, LOCALAPPDATA or ~/Library/Logs. Not created here."""
    environment = os.environ if environment is None else environment
    if platform == "win32":
        return _from(environment, "LOCALAPPDATA", ("AppData", "Local")) / _NAME
    if platform == "darwin":
        return Path.home() / "Library" / "Logs" / _NAME
    return _from(environment, "XDG_STATE_HOME", (".local", "state")) / _NAME


def log_file() -> Path:
    """The log that holds what a one-line message leaves out."""
    return state_directory() / "tilescope.log"


def assets_directory() -> Path:
    """Shipped captures, cases and icons: the folder ``assets`` beside the package ``explorer``.

    Found by path and not by import, since other distributions have a package named assets too.
    """
    return Path(explorer.__file__).resolve().parent.parent / "assets"


def _from(environment: Mapping[str, str], variable: str, fallback: tuple[str, ...]) -> Path:
    """The folder a variable names. The XDG specification has relative paths ignored."""
    value = environment.get(variable, "")
    return Path(value) if value and Path(value).is_absolute() else Path.home().joinpath(*fallback)
