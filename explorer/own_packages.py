"""Does Python find our packages under their names? Others on PyPI are called ``kernels`` and ``explorer`` too.

Standard library only: this has to work where the wrong package was found.
"""

from __future__ import annotations

import importlib.util
from importlib import metadata
from pathlib import Path

NAMES = ("explorer", "kernels")
DISTRIBUTION = "tilescope"
ADVICE = "give Tilescope an environment of its own: pipx install tilescope, or uv tool install tilescope"


def folder(name: str) -> Path | None:
    """Where Python finds the package ``name``; None where it does not."""
    spec = importlib.util.find_spec(name)
    places = list(spec.submodule_search_locations or ()) if spec is not None else []
    return Path(places[0]).resolve() if places else None


def misplaced() -> list[str]:
    """Names under which Python finds a package that is not ours. Cheap: looks at folders alone."""
    return [name for name in NAMES if folder(name) != _ours(name)]


def _ours(name: str) -> Path:
    return Path(__file__).resolve().parent.parent / name


def problem(name: str) -> str:
    """'' where the package ``name`` is Tilescope's own, else one line that says what was found and what to do."""
    ours = _ours(name)
    found = folder(name)
    if found is None:
        return f"the package {name} is missing: {ADVICE}"
    others = [other for other in _distributions_with(name) if other.lower() != DISTRIBUTION]
    if found != ours:
        whose = f", which belongs to {', '.join(others)}" if others else ""
        return f"another package named {name} comes before Tilescope's: {found}{whose}; {ADVICE}"
    if others:
        return f"{', '.join(others)} installs a package named {name} too, into the same place; {ADVICE}"
    return ""


def problems() -> list[str]:
    """``problem`` of each of our packages, where there is one."""
    return [text for text in map(problem, NAMES) if text]


def _distributions_with(package: str) -> list[str]:
    return sorted(set(metadata.packages_distributions().get(package, [])))
