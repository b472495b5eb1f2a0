"""The function around a kernel: what it computes before and after its ``pallas_call``."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax

from explorer.engine import _jax_internals as internals
from explorer.engine.errors import CaptureError, one_line


@dataclass(frozen=True, eq=False)
class OuterCall:
    """One call of a function, split at its kernel.

    equation: the ``pallas_call``. operands: its inputs, computed. finish: kernel outputs -> the function's outputs.
    plain: runs the whole function, its kernels in interpret mode where there is no TPU.
    """

    equation: Any
    operands: tuple[Any, ...]
    finish: Callable[[Sequence[Any]], Any]
    plain: Callable[[], Any]


def split(function: Callable[..., Any], arguments: Sequence[Any], which: int | None) -> OuterCall:
    """Trace a call and split it. Raises CaptureError where it holds no kernel, or several and ``which`` is None."""
    traced, out_tree = _trace(function, arguments)
    flat = jax.tree.leaves(tuple(arguments))
    jaxpr, constants = internals.open_jaxpr(_inlined(traced, flat))
    found = [at for at, equation in enumerate(jaxpr.eqns) if equation.primitive.name == "pallas_call"]
    at = found[_choose(len(found), which, function, jaxpr)]
    equation = jaxpr.eqns[at]

    def before(*flat: Any) -> list[Any]:
        env = _start(jaxpr, constants, flat)
        _run(jaxpr.eqns[:at], env)
        return [internals.read_atom(env, atom) for atom in equation.invars]

    def after(flat: Sequence[Any], outputs: Sequence[Any]) -> list[Any]:
        env = _start(jaxpr, constants, flat)
        _run(jaxpr.eqns[:at], env)
        env.update(zip(equation.outvars, outputs, strict=True))
        _run(jaxpr.eqns[at + 1 :], env)
        return [internals.read_atom(env, atom) for atom in jaxpr.outvars]

    def whole(flat: Sequence[Any]) -> list[Any]:
        env = _start(jaxpr, constants, flat)
        _run(jaxpr.eqns, env)
        return [internals.read_atom(env, atom) for atom in jaxpr.outvars]

    compiled_after, compiled_whole = jax.jit(after), jax.jit(whole)
    return OuterCall(
        equation=equation,
        operands=tuple(jax.jit(before)(*flat)),
        finish=lambda outputs: jax.tree.unflatten(out_tree, compiled_after(flat, list(outputs))),
        plain=lambda: jax.tree.unflatten(out_tree, compiled_whole(flat)),
    )


def _trace(function: Callable[..., Any], arguments: Sequence[Any]) -> tuple[Any, Any]:
    try:
        traced, shapes = jax.make_jaxpr(function, return_shape=True)(*arguments)
    except Exception as error:
        raise CaptureError(f"{_title(function)} raises while it is traced: {one_line(error)}") from error
    return traced, jax.tree.structure(shapes)


def _title(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def _choose(count: int, which: int | None, function: Callable[..., Any], jaxpr: Any) -> int:
    if not count:
        inside = next((e.primitive.name for e in jaxpr.eqns if _holds_kernel(e)), None)
        if inside:
            raise CaptureError(f"the pallas_call of {_title(function)} sits inside a {inside}: call it outside")
        raise CaptureError(f"{_title(function)} calls no Pallas kernel: there is no pallas_call in its trace")
    if which is None and count > 1:
        raise CaptureError(f"{_title(function)} calls {count} Pallas kernels: choose one with which=0 to {count - 1}")
    if which is not None and not 0 <= which < count:
        raise CaptureError(f"{_title(function)} calls {count} Pallas kernels, 0 to {count - 1}: which={which} is none")
    return which or 0


def _inlined(traced: Any, flat: Sequence[Any]) -> Any:
    """The same computation with every call that holds a kernel replaced by its body."""

    def run(*values: Any) -> list[Any]:
        return _inline(traced, values)

    return jax.make_jaxpr(run)(*flat)


def _inline(traced: Any, values: Sequence[Any]) -> list[Any]:
    jaxpr, constants = internals.open_jaxpr(traced)
    env = _start(jaxpr, constants, values)
    for equation in jaxpr.eqns:
        inputs = [internals.read_atom(env, atom) for atom in equation.invars]
        name = equation.primitive.name
        if name in internals.CALL_PRIMITIVES and _holds_kernel(equation):
            results = _inline(equation.params[internals.CALL_PRIMITIVES[name]], inputs)
        else:
            results = internals.bind(equation, inputs)
        env.update(zip(equation.outvars, results, strict=True))
    return [internals.read_atom(env, atom) for atom in jaxpr.outvars]


def _holds_kernel(equation: Any) -> bool:
    if equation.primitive.name == "pallas_call":
        return True
    inner = jax.tree.leaves(list(equation.params.values()), is_leaf=_is_jaxpr)
    return any(_holds_kernel(e) for value in inner if _is_jaxpr(value) for e in internals.open_jaxpr(value)[0].eqns)


def _is_jaxpr(value: Any) -> bool:
    return hasattr(internals.open_jaxpr(value)[0], "eqns")


def _start(jaxpr: Any, constants: Sequence[Any], values: Sequence[Any]) -> dict[Any, Any]:
    return dict(zip([*jaxpr.constvars, *jaxpr.invars], [*constants, *values], strict=True))


def _run(equations: Sequence[Any], env: dict[Any, Any]) -> None:
    for equation in equations:
        inputs = [internals.read_atom(env, atom) for atom in equation.invars]
        env.update(zip(equation.outvars, internals.bind(internals.runnable(equation), inputs), strict=True))
