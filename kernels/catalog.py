"""The contract of an attention kernel, and the registry of those there are.

A kernel of your own joins through an entry point of the group ``tilescope.kernels`` that names an ``AttentionKernel``::

    [project.entry-points."tilescope.kernels"]
    mine = "my_package.kernels:MINE"

Importing this module loads no JAX: kernels are imported when they are asked for.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from functools import cache
from importlib.metadata import EntryPoint, entry_points
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem

GROUP = "tilescope.kernels"

_BUILT_IN = {
    "flash": "kernels.flash:FLASH",
    "naive": "kernels.library:NAIVE",
    "xla": "kernels.library:XLA",
    "jax-flash": "kernels.library:JAX_FLASH",
    "jax-splash": "kernels.library:JAX_SPLASH",
}


class AttentionOutput(NamedTuple):
    """o: (batch, heads, q_len, head_dim) in the problem's dtype. lse: float32 (batch, heads, q_len), or None."""

    o: Any
    lse: Any


class Unsupported(ValueError):  # noqa: N818 -- reads as what it says: raise Unsupported(...)
    """The kernel cannot take the problem; the message names the thing and what would do."""


@runtime_checkable
class AttentionKernel(Protocol):
    """One way to compute attention. ``exact`` is False for approximations."""

    name: str
    title: str
    exact: bool
    is_pallas: bool

    def refusal(self, problem: AttentionProblem, blocks: BlockSizes, platform: str) -> str:
        """'' where it can take the problem on ``platform`` (cpu, gpu, tpu), else why not, in one line."""
        ...

    def build(
        self, problem: AttentionProblem, blocks: BlockSizes, *, interpret: bool | None = None
    ) -> Callable[[Any, Any, Any], AttentionOutput]:
        """A function of q, k and v that JAX can trace; call ``build`` itself outside of a trace.

        q: (batch, heads, q_len, head_dim); k, v: (batch, kv_heads, kv_len, head_dim). ``interpret``: run a Pallas
        kernel in the interpreter; None decides by the default backend. Raises ``Unsupported``; the function raises
        ``ProblemError`` for arrays of other shapes.
        """
        ...


class Registry(NamedTuple):
    """``kernels`` by name, built-ins first. ``problems``: one line for each entry point that could not be used."""

    kernels: dict[str, AttentionKernel]
    problems: tuple[str, ...]


def get(name: str) -> AttentionKernel:
    """The kernel of that name. Raises ``Unsupported`` for a name nobody registered."""
    if name in _BUILT_IN:
        return _built_in(name)
    kernels = registry().kernels
    if name not in kernels:
        raise Unsupported(f"no kernel is called {name!r}; there are {', '.join(kernels)}")
    return kernels[name]


def names() -> tuple[str, ...]:
    """Names of all kernels, built-ins first."""
    return tuple(registry().kernels)


def all_kernels() -> tuple[AttentionKernel, ...]:
    """All kernels, in the order of ``names``."""
    return tuple(registry().kernels.values())


def problems() -> tuple[str, ...]:
    """One line for each entry point that could not be used."""
    return registry().problems


def registry() -> Registry:
    """All kernels there are now. A broken entry point is reported in ``problems`` and harms no other."""
    kernels = {name: _built_in(name) for name in _BUILT_IN}
    reports = []
    for entry in sorted(entry_points(group=GROUP), key=lambda e: e.name):
        if _BUILT_IN.get(entry.name) == entry.value:
            continue
        try:
            kernels[entry.name] = _load(entry, taken=kernels)
        except Exception as error:  # a stranger's package may raise anything when imported
            reports.append(f"kernel {entry.name} ({entry.value}) was left out: {error or type(error).__name__}")
    return Registry(kernels, tuple(reports))


def _load(entry: EntryPoint, taken: dict[str, AttentionKernel]) -> AttentionKernel:
    if entry.name in taken:
        raise Unsupported("a kernel of that name is already there; register it under another")
    kernel = entry.load()
    if not isinstance(kernel, AttentionKernel):
        raise Unsupported("it lacks a part of kernels.catalog.AttentionKernel (name, title, refusal, build, ...)")
    if kernel.name != entry.name:
        raise Unsupported(f"it calls itself {kernel.name!r}; entry point and name must agree")
    return kernel


@cache
def _built_in(name: str) -> AttentionKernel:
    module, attribute = _BUILT_IN[name].split(":")
    return getattr(importlib.import_module(module), attribute)
