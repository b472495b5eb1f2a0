"""Folders by platform and environment."""

from __future__ import annotations

from pathlib import Path

from explorer.session import places


def test_linux_honours_xdg() -> None:
    environment = {"XDG_CONFIG_HOME": "/there/config", "XDG_STATE_HOME": "/there/state"}
    assert places.config_directory(environment, "linux") == Path("/there/config/tilescope")
    assert places.state_directory(environment, "linux") == Path("/there/state/tilescope")


def test_a_relative_xdg_folder_is_ignored() -> None:
    assert places.config_directory({"XDG_CONFIG_HOME": "here"}, "linux") == Path.home() / ".config" / "tilescope"
    assert places.state_directory({}, "linux") == Path.home() / ".local" / "state" / "tilescope"


def test_windows_and_macos() -> None:
    assert places.config_directory({"APPDATA": "/roaming"}, "win32") == Path("/roaming/tilescope")
    assert places.config_directory({}, "darwin") == Path.home() / "Library/Application Support/tilescope"
    assert places.state_directory({"XDG_STATE_HOME": "/ignored"}, "darwin") == Path.home() / "Library/Logs/tilescope"


def test_assets_are_beside_the_package() -> None:
    assert (places.assets_directory() / "captures" / "index.json").is_file()
