"""The list of recent inputs, its file, and what becomes of a damaged one."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.session import places
from explorer.session.recent import LIMIT, RecentInputs


def test_newest_first_and_no_name_twice(tmp_path: Path) -> None:
    recent = RecentInputs(tmp_path / "recent.json")
    for name in ("normal", "needle", "normal"):
        recent.add(name)
    assert recent.names == ("normal", "needle")
    assert RecentInputs(tmp_path / "recent.json").names == ("normal", "needle")


def test_files_are_kept_by_full_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    recent = RecentInputs(tmp_path / "recent.json")
    recent.add("heads.npz")
    assert recent.names == (str(tmp_path / "heads.npz"),)
    recent.remove(str(tmp_path / "heads.npz"))
    assert RecentInputs(tmp_path / "recent.json").names == ()


def test_the_list_is_short(tmp_path: Path) -> None:
    recent = RecentInputs(tmp_path / "recent.json")
    for number in range(LIMIT + 5):
        recent.add(f"case-{number}")
    assert len(recent.names) == LIMIT
    assert recent.names[0] == f"case-{LIMIT + 4}"


@pytest.mark.parametrize("content", [b"", b"{", b'{"version": 1, "recent": [1]}', b'["a"]', b"\xff"])
def test_a_damaged_file_is_set_aside(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "recent.json"
    path.write_bytes(content)
    recent = RecentInputs(path)
    assert recent.names == ()
    assert "damaged" in recent.problem
    assert (tmp_path / "recent.json.damaged").read_bytes() == content
    recent.add("normal")
    assert RecentInputs(path).names == ("normal",)


def test_a_folder_that_cannot_be_written_is_said_and_harmless(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    recent = RecentInputs(blocked / "recent.json")
    recent.add("normal")
    assert recent.names == ("normal",)
    assert recent.problem.startswith("recent inputs not ")


def test_the_platform_folder_is_the_default() -> None:
    RecentInputs().add("needle")
    assert (places.config_directory() / "recent.json").is_file()
    assert RecentInputs().names == ("needle",)
