"""What doctor says of packages, display and Qt."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import explorer
from explorer import own_packages
from explorer.link.messages import Check
from explorer.session.headless import doctor


def test_our_own_packages_are_found() -> None:
    assert own_packages.problems() == []
    assert own_packages.folder("kernels") == Path(explorer.__file__).parent.parent / "kernels"


def test_a_package_of_another_distribution_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("kernels", "kernels-9.0.dist-info"):
        (tmp_path / name).mkdir()
    (tmp_path / "kernels" / "__init__.py").touch()
    (tmp_path / "kernels-9.0.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: kernels\nVersion: 9.0\n")
    (tmp_path / "kernels-9.0.dist-info" / "top_level.txt").write_text("kernels\n")
    (tmp_path / "kernels-9.0.dist-info" / "RECORD").write_text("kernels/__init__.py,,\n")
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "kernels")
    said = own_packages.problem("kernels")
    assert str(tmp_path / "kernels") in said
    assert "belongs to kernels" in said
    assert "pipx install tilescope" in said


def test_a_missing_package_is_said() -> None:
    assert "no_such_package is missing" in own_packages.problem("no_such_package")


@pytest.mark.parametrize(
    ("environment", "system", "ok", "words"),
    [
        ({}, "linux", False, "tilescope run, step and shot"),
        ({"DISPLAY": ":0"}, "linux", True, "DISPLAY is :0"),
        ({"WAYLAND_DISPLAY": "wayland-1"}, "linux", True, "wayland-1"),
        ({"QT_QPA_PLATFORM": "offscreen"}, "linux", True, "offscreen"),
        ({}, "darwin", True, "desktop"),
        ({}, "win32", True, "desktop"),
    ],
)
def test_display(environment: dict[str, str], system: str, ok: bool, words: str) -> None:
    check = doctor.display_check(environment, system)
    assert check.ok is ok
    assert words in check.detail


def test_qt_that_does_not_load_comes_with_the_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "_QT_PROBE", "raise ImportError('libEGL.so.1: cannot open shared object file')")
    check = doctor._qt()
    assert not check.ok
    assert "libEGL.so.1" in check.detail
    assert "sudo apt install libegl1" in check.detail


def test_reports() -> None:
    checks = [Check(name="one", ok=True, detail="fine"), Check(name="three", ok=False, detail="broken")]
    assert doctor.report_text(checks).splitlines() == ["ok      one    fine", "NOT OK  three  broken"]
    data = doctor.report_data(checks)
    assert data["ok"] is False
    assert data["checks"] == [
        {"name": "one", "ok": True, "detail": "fine"},
        {"name": "three", "ok": False, "detail": "broken"},
    ]
