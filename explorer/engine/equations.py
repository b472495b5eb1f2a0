"""Lists the equations of a kernel body, into branches, calls and loops.

The re-emission (``_reemit``) walks the same way: a value is found by its ``key``, the positions of the equations
that lead to it, since one jaxpr object may be called from several places.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from explorer.engine import _jax_internals as internals
from explorer.engine.program import Equation


@dataclass(frozen=True)
class _Place:
    """Where in the body the walk is."""

    key: tuple = ()
    path: tuple[str, ...] = ()
    scope: str = ""
    trips: tuple[int, ...] = ()
    last_trip_only: bool = False
    region: tuple = ()


@dataclass
class _Listing:
    equations: list[Equation] = field(default_factory=list)
    regions: dict[tuple, int] = field(default_factory=lambda: {(): 0})


def list_equations(jaxpr: Any) -> tuple[tuple[Equation, ...], int]:
    """Every array-valued result of a kernel body, in order, and the number of regions.

    What a branch or loop returns comes after what ran inside it. Writes to references have no result.
    """
    listing = _Listing()
    _walk(jaxpr, _Place(), listing)
    return tuple(listing.equations), len(listing.regions)


def region_key(key: tuple, name: str | int) -> tuple:
    """The key of a branch or loop body, as the re-emission finds its number again."""
    return (*key, name)


def regions_of(jaxpr: Any) -> dict[tuple, int]:
    """Number of every region by key."""
    listing = _Listing()
    _walk(jaxpr, _Place(), listing)
    return listing.regions


def _walk(jaxpr: Any, place: _Place, listing: _Listing) -> None:
    body, _ = internals.open_jaxpr(jaxpr)
    for position, equation in enumerate(body.eqns):
        scope = internals.scope_of(equation)
        here = replace(place, key=(*place.key, position), scope="/".join(part for part in (place.scope, scope) if part))
        for inner, name, changes in inner_jaxprs(equation):
            region = here.region
            if changes.pop("own_region", False):
                region = region_key(here.key, name)
                listing.regions[region] = len(listing.regions)
            inner_place = replace(
                here,
                key=(*here.key, name),
                path=(*here.path, changes["label"]) if changes["label"] else here.path,
                trips=(*here.trips, *changes.get("trips", ())),
                last_trip_only=here.last_trip_only or changes.get("last_trip_only", False),
                region=region,
            )
            _walk(inner, inner_place, listing)
        if equation.primitive.name not in internals.CALL_PRIMITIVES:
            _list_results(equation, here, listing)


def inner_jaxprs(equation: Any) -> list[tuple[Any, str, dict[str, Any]]]:
    """(jaxpr, name, how it runs) of what a branch, a call or a loop runs; empty for everything else."""
    name, params = equation.primitive.name, equation.params
    if name in internals.CALL_PRIMITIVES:
        return [(params[internals.CALL_PRIMITIVES[name]], "call", {"label": ""})]
    if name == "cond":
        return [
            (branch, f"branch{i}", {"label": f"cond[{i}]", "own_region": True})
            for i, branch in enumerate(params["branches"])
        ]
    if name == "scan":
        trips = (int(params["length"]),)
        return [(params["jaxpr"], "body", {"label": "scan", "own_region": True, "trips": trips})]
    if name == "while":
        return [(params["body_jaxpr"], "body", {"label": "while", "own_region": True, "last_trip_only": True})]
    return []


def _list_results(equation: Any, here: _Place, listing: _Listing) -> None:
    if equation.primitive.name in ("swap", "addupdate", "program_id", "num_programs"):
        return
    file, line, function = internals.source_line(equation)
    for position, variable in enumerate(equation.outvars):
        if internals.is_dropped(variable) or internals.is_ref(variable) or not hasattr(variable.aval, "shape"):
            continue
        if not isinstance(variable.aval.dtype, np.dtype):
            continue
        listing.equations.append(
            Equation(
                index=len(listing.equations),
                primitive=equation.primitive.name,
                shape=tuple(variable.aval.shape),
                dtype=variable.aval.dtype,
                file=file,
                line=line,
                function=function,
                scope=here.scope,
                path=here.path,
                trips=here.trips,
                last_trip_only=here.last_trip_only,
                region=listing.regions[here.region],
                key=(*here.key, position),
            )
        )
