"""Files are replaced whole or not at all."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path

import pytest

from explorer.session.atomic import set_aside, write_atomically


def test_replaces_and_makes_folders(tmp_path: Path) -> None:
    path = tmp_path / "a" / "b" / "file"
    write_atomically(path, b"one")
    write_atomically(path, b"two")
    assert path.read_bytes() == b"two"
    assert os.listdir(path.parent) == ["file"]


def test_an_interruption_leaves_the_old_content(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "file"
    write_atomically(path, b"old")

    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write_atomically(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX permissions")
def test_keeps_permissions_and_links(tmp_path: Path) -> None:
    real, link = tmp_path / "real", tmp_path / "link"
    real.write_bytes(b"old")
    real.chmod(0o640)
    link.symlink_to(real)
    write_atomically(link, b"new")
    assert link.is_symlink()
    assert real.read_bytes() == b"new"
    assert stat.S_IMODE(real.stat().st_mode) == 0o640


def test_set_aside_keeps_the_content(tmp_path: Path) -> None:
    path = tmp_path / "recent.json"
    path.write_bytes(b"{")
    aside = set_aside(path)
    assert aside is not None
    assert aside.read_bytes() == b"{"
    assert not path.exists()
    assert set_aside(path) is None
