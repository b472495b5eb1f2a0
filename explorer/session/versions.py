"""Which releases are at work, without importing any of them."""

from __future__ import annotations

import platform
import tomllib
from importlib import metadata
from pathlib import Path

import explorer
from explorer.own_packages import DISTRIBUTION


def own_version() -> str:
    """Tilescope's version: of the installed distribution, or of the source tree it runs from."""
    project = Path(explorer.__file__).resolve().parent.parent / "pyproject.toml"
    try:
        table = tomllib.loads(project.read_text(encoding="utf-8"))["project"]
        if table["name"] == DISTRIBUTION:
            return str(table["version"])
    except (OSError, ValueError, KeyError):
        pass
    return installed_version(DISTRIBUTION) or "unknown"


def installed_version(distribution: str) -> str:
    """Version of an installed distribution, '' where there is none."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return ""


def versions(jax_version: str = "") -> dict[str, str]:
    """Releases by name for a report; ``jax`` is the engine's, as it said."""
    found = {
        "tilescope": own_version(),
        "python": platform.python_version(),
        "numpy": installed_version("numpy"),
        "jax": jax_version,
    }
    return {name: version for name, version in found.items() if version}
