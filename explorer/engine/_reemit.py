"""Re-emits a kernel body equation by equation inside another kernel, with a hook on every result."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import jax.numpy as jnp

from explorer.engine import _jax_internals as internals
from explorer.engine.equations import region_key

Hook = Callable[[tuple, Any, tuple], None]


@dataclass(frozen=True)
class Emitter:
    """What a re-emission needs to know.

    coords: traced int32 scalars, one a grid axis that the kernel counts. grid: their lengths.
    on_value: called with the key of a result, its value and the trip numbers of the loops around it.
    on_region: called with the key of each branch or loop body as it begins.
    """

    coords: Sequence[Any]
    grid: Sequence[int]
    on_value: Hook | None = None
    on_region: Callable[[tuple], None] | None = None

    def run(self, jaxpr: Any, values: Sequence[Any], key: tuple = (), trips: tuple = ()) -> list[Any]:
        """Emit a jaxpr on traced values and references; returns its results."""
        body, constants = internals.open_jaxpr(jaxpr)
        env = dict(zip([*body.constvars, *body.invars], [*constants, *values], strict=True))
        for position, equation in enumerate(body.eqns):
            here = (*key, position)
            inputs = [internals.read_atom(env, atom) for atom in equation.invars]
            with internals.source_of(equation):
                results = self._equation(equation, inputs, here, trips)
                self._report(equation, results, here, trips)
            env.update(zip(equation.outvars, results, strict=True))
        return [internals.read_atom(env, atom) for atom in body.outvars]

    def _report(self, equation: Any, results: Sequence[Any], key: tuple, trips: tuple) -> None:
        if self.on_value is None or equation.primitive.name in internals.CALL_PRIMITIVES:
            return
        for position, (variable, value) in enumerate(zip(equation.outvars, results, strict=True)):
            if not internals.is_dropped(variable):
                self.on_value((*key, position), value, trips)

    def _begin(self, key: tuple, name: str) -> tuple:
        inner = region_key(key, name)
        if self.on_region is not None:
            self.on_region(inner)
        return inner

    def _equation(self, equation: Any, inputs: list[Any], key: tuple, trips: tuple) -> Sequence[Any]:
        name = equation.primitive.name
        if name == "program_id":
            return [self.coords[equation.params["axis"]]]
        if name == "num_programs":
            return [jnp.int32(self.grid[equation.params["axis"]])]
        if name in internals.CALL_PRIMITIVES:
            inner = equation.params[internals.CALL_PRIMITIVES[name]]
            return self.run(inner, inputs, (*key, "call"), trips)
        if name == "cond":
            return self._cond(equation.params["branches"], inputs, key, trips)
        if name == "scan":
            return self._scan(equation.params, inputs, key, trips)
        if name == "while":
            return self._while(equation.params, inputs, key, trips)
        return internals.bind(equation, inputs)

    def _cond(self, branches: Sequence[Any], inputs: list[Any], key: tuple, trips: tuple) -> Sequence[Any]:
        index, *operands = inputs

        def branch(position: int) -> Callable[[], list[Any]]:
            def run() -> list[Any]:
                inner = self._begin(key, f"branch{position}")
                return self.run(branches[position], operands, inner, trips)

            return run

        functions = [branch(position) for position in range(len(branches))]
        if len(functions) == 2:
            return jax.lax.cond(jnp.asarray(index).astype(bool), functions[1], functions[0])
        return jax.lax.switch(index, functions)

    def _scan(self, params: dict[str, Any], inputs: list[Any], key: tuple, trips: tuple) -> Sequence[Any]:
        fixed, carried = internals.scan_counts(params)
        constants, start, stacked = inputs[:fixed], inputs[fixed : fixed + carried], inputs[fixed + carried :]
        length, reverse = params["length"], params["reverse"]

        def trip(carry: tuple, slices: Sequence[Any]) -> tuple[tuple, list[Any]]:
            number, *state = carry
            inner = self._begin(key, "body")
            trip_number = length - 1 - number if reverse else number
            results = self.run(params["jaxpr"], [*constants, *state, *slices], inner, (*trips, trip_number))
            return (number + 1, *results[:carried]), results[carried:]

        if not stacked and len(params["jaxpr"].out_avals) == carried and not reverse:
            # A counted loop is the only scan that a TPU lowers.
            return jax.lax.fori_loop(
                0,
                length,
                lambda number, state: list(trip((number, *state), [])[0][1:]),
                list(start),
                unroll=params["unroll"],
            )
        (_, *end), ys = jax.lax.scan(
            trip, (jnp.int32(0), *start), stacked, length=length, reverse=reverse, unroll=params["unroll"]
        )
        return [*end, *ys]

    def _while(self, params: dict[str, Any], inputs: list[Any], key: tuple, trips: tuple) -> Sequence[Any]:
        in_test, in_body = params["cond_nconsts"], params["body_nconsts"]
        test_constants, body_constants = inputs[:in_test], inputs[in_test : in_test + in_body]
        quiet = Emitter(self.coords, self.grid)

        def test(state: Sequence[Any]) -> Any:
            return quiet.run(params["cond_jaxpr"], [*test_constants, *state])[0]

        def body(state: Sequence[Any]) -> list[Any]:
            inner = self._begin(key, "body")
            return self.run(params["body_jaxpr"], [*body_constants, *state], inner, trips)

        return jax.lax.while_loop(test, body, inputs[in_test + in_body :])
