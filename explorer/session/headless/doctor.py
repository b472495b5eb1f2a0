"""``tilescope doctor``: is everything here that Tilescope needs, and is it the right one."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path

import explorer
from explorer import own_packages
from explorer.link.messages import Check
from explorer.session.inputs import names
from explorer.session.places import assets_directory, config_directory, log_file
from explorer.session.versions import installed_version, own_version

QT_LIBRARIES = "libegl1 libgl1 libxkbcommon0 libdbus-1-3 libfontconfig1"
QT_ADVICE = f"install the desktop libraries that Qt needs, on Debian and Ubuntu: sudo apt install {QT_LIBRARIES}"
_PACKAGES = ("numpy", "msgspec", "safetensors", "PySide6-Essentials", "pyqtgraph")
_QT_PROBE = "import PySide6.QtWidgets, PySide6.QtSvg, pyqtgraph"


def local_checks() -> list[Check]:
    """Checks of this process's side; each ends in words on what would do where it is not right."""
    return [
        Check(name="tilescope", ok=True, detail=f"{own_version()} in {Path(explorer.__file__).parent.parent}"),
        Check(name="python", ok=sys.version_info >= (3, 11), detail=f"{platform.python_version()} ({sys.executable})"),
        *(_release(name) for name in _PACKAGES),
        *(_own(name) for name in own_packages.NAMES),
        _assets(),
        _qt(),
        display_check(os.environ, sys.platform),
        Check(name="files", ok=True, detail=f"settings in {config_directory()}, log in {log_file()}"),
    ]


def display_check(environment: Mapping[str, str], system: str) -> Check:
    """Is there a screen to open a window on?"""
    platform_name = environment.get("QT_QPA_PLATFORM", "")
    if platform_name:
        return Check(name="display", ok=True, detail=f"QT_QPA_PLATFORM is {platform_name}")
    if system in ("win32", "darwin"):
        return Check(name="display", ok=True, detail="the desktop's own")
    for variable in ("WAYLAND_DISPLAY", "DISPLAY"):
        if environment.get(variable):
            return Check(name="display", ok=True, detail=f"{variable} is {environment[variable]}")
    detail = "none: the window cannot open; tilescope run, step and shot need none"
    return Check(name="display", ok=False, detail=detail)


def report_text(checks: Iterable[Check]) -> str:
    """One line a check: 'ok' or 'not ok', its name, its detail."""
    checks = list(checks)
    width = max(len(check.name) for check in checks)
    return "\n".join(f"{'ok    ' if c.ok else 'NOT OK'}  {c.name:<{width}}  {c.detail}" for c in checks)


def report_data(checks: Iterable[Check]) -> dict[str, object]:
    """Keys of ``doctor --json``: ``ok`` and ``checks[]`` with ``name, ok, detail``."""
    checks = list(checks)
    listed = [{"name": check.name, "ok": check.ok, "detail": check.detail} for check in checks]
    return {"ok": all(check.ok for check in checks), "checks": listed}


def _own(name: str) -> Check:
    problem = own_packages.problem(name)
    return Check(name=f"package {name}", ok=not problem, detail=problem or str(own_packages.folder(name)))


def _release(distribution: str) -> Check:
    version = installed_version(distribution)
    return Check(name=distribution, ok=bool(version), detail=version or f"not installed: {own_packages.ADVICE}")


def _assets() -> Check:
    count = len(names())
    ok = any(entry.group == "Real sentences" for entry in names())
    detail = f"{count} built-in inputs in {assets_directory()}" if ok else f"not found in {assets_directory()}"
    return Check(name="assets", ok=ok, detail=detail)


def _qt() -> Check:
    """Import Qt in a process of its own: where libraries are missing it fails, and it may abort."""
    try:
        done = subprocess.run(
            [sys.executable, "-c", _QT_PROBE], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return Check(name="Qt", ok=False, detail=f"could not be tried: {error}")
    if done.returncode == 0:
        return Check(name="Qt", ok=True, detail="its libraries load")
    last = (done.stderr.strip().splitlines() or ["it ended without a word"])[-1]
    return Check(name="Qt", ok=False, detail=f"{last}; {QT_ADVICE}")
