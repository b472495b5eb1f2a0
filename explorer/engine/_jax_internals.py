"""The only module that touches ``jax._src``, parameters of ``pallas_call`` or the fields of its grid mapping.

Everything here can move with a JAX release; ``check`` says what did, in plain words.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax._src import core, source_info_util
from jax._src.pallas import core as pallas_core, primitives as pallas_primitives
from jax._src.state import types as state_types
from jax.experimental.pallas import tpu as pltpu

CALL_PRIMITIVES = {
    "jit": "jaxpr",
    "pjit": "jaxpr",
    "closed_call": "call_jaxpr",
    "core_call": "call_jaxpr",
    "remat": "jaxpr",
    "checkpoint": "jaxpr",
    "custom_jvp_call": "call_jaxpr",
    "custom_vjp_call": "call_jaxpr",
    "custom_vjp_call_jaxpr": "fun_jaxpr",
    "custom_vmap_call": "call",
    "custom_lin": "jaxpr",
}
"""Primitives that only call a jaxpr with their operands, and the parameter that holds it."""

_CALL_PARAMS = ("jaxpr", "grid_mapping", "input_output_aliases", "compiler_params", "name", "interpret")
_GRID_FIELDS = (
    "grid",
    "block_mappings",
    "vmapped_dims",
    "scratch_avals",
    "num_index_operands",
    "num_inputs",
    "num_outputs",
    "num_dynamic_grid_bounds",
    "local_grid_env",
)
_BLOCK_FIELDS = (
    "block_shape",
    "array_aval",
    "ref_aval",
    "transforms",
    "pipeline_mode",
    "compute_start_indices_interpret",
)


def open_jaxpr(jaxpr: Any) -> tuple[Any, Sequence[Any]]:
    """(jaxpr with ``eqns``, its constants), whether JAX keeps closed jaxprs as a type of their own or not."""
    inner = getattr(jaxpr, "jaxpr", jaxpr)
    return inner, tuple(getattr(jaxpr, "consts", ()))


def read_atom(env: dict[Any, Any], atom: Any) -> Any:
    """The value of a jaxpr variable or literal."""
    return atom.val if isinstance(atom, core.Literal) else env[atom]


def is_dropped(variable: Any) -> bool:
    """Whether an equation's output is used by nothing."""
    return isinstance(variable, core.DropVar)


def is_ref(atom: Any) -> bool:
    """Whether a jaxpr variable is a reference to memory."""
    return isinstance(getattr(atom, "aval", None), state_types.AbstractRef)


def bind(equation: Any, values: Sequence[Any]) -> list[Any]:
    """Run (or re-emit, under a trace) one equation on ``values``; always a list of results."""
    params = equation.primitive.get_bind_params(equation.params)
    if isinstance(params, tuple):
        functions, params = params
        values = [*functions, *values]
    results = equation.primitive.bind(*values, **params)
    return list(results) if equation.primitive.multiple_results else [results]


def runnable(equation: Any) -> Any:
    """The same equation; a ``pallas_call`` is set to interpret mode where there is no TPU to compile it for."""
    if equation.primitive.name != "pallas_call" or jax.default_backend() == "tpu":
        return equation
    return equation.replace(params={**equation.params, "interpret": True})


def scan_counts(params: dict[str, Any]) -> tuple[int, int]:
    """(constants, carried values) among the operands of a ``scan``; 0.12 keeps them as groups of a tree."""
    if "num_consts" in params:
        return params["num_consts"], params["num_carry"]
    constants, carried, _ = params["ft_in"].unpack()
    return len(constants), len(carried)


@contextlib.contextmanager
def source_of(equation: Any) -> Iterator[None]:
    """Give what is traced inside the source line and name scope of ``equation``."""
    stack = source_info_util.current_name_stack() + equation.source_info.name_stack
    with source_info_util.user_context(equation.source_info.traceback, name_stack=stack), equation.ctx.manager:
        yield


def source_line(equation: Any) -> tuple[str, int, str]:
    """(file, line, function) of the user's code that wrote an equation; ("", 0, "") where JAX kept none."""
    frame = source_info_util.user_frame(equation.source_info.traceback)
    return ("", 0, "") if frame is None else (frame.file_name, frame.start_line, frame.function_name)


def scope_of(equation: Any) -> str:
    """The ``jax.named_scope`` names around an equation, within its own jaxpr, joined by "/"."""
    stack = equation.source_info.name_stack.stack
    return "/".join(entry.name for entry in stack if isinstance(entry, source_info_util.Scope))


def uninitialised(shape: Sequence[int], dtype: Any) -> jax.Array:
    """What ``interpret=True`` fills memory with that nothing has written: NaN, the least integer, False."""
    return pallas_primitives.uninitialized_value(tuple(shape), dtype)


def block_dimensions(mapping: Any) -> list[tuple[str, int]]:
    """(kind, size) of each dimension of a block: kind is the class name (Blocked, Squeezed, Element, ...)."""
    return [(type(dim).__name__, _dimension_size(dim)) for dim in mapping.block_shape]


def _dimension_size(dimension: Any) -> int:
    return 1 if isinstance(dimension, pallas_core.Squeezed) else int(getattr(dimension, "block_size", 0))


def element_padding(mapping: Any) -> bool:
    """Whether an Element dimension of the block asks for padding."""
    return any(tuple(getattr(dim, "padding", (0, 0))) != (0, 0) for dim in mapping.block_shape)


def start_indices(mapping: Any, coords: Sequence[Any], prefetch: Sequence[Any]) -> tuple[Any, ...]:
    """Where the block starts in its array, in elements, at grid ``coords`` (traced scalars are fine)."""
    return mapping.compute_start_indices_interpret(tuple(coords), *prefetch)


def buffer_count(mapping: Any) -> int:
    """VMEM buffers of a pipelined block: 2 unless its ``pipeline_mode`` says otherwise."""
    count = getattr(mapping.pipeline_mode, "buffer_count", 2)
    return int(count[0] if isinstance(count, tuple) else count)


def memory_space(aval: Any) -> Any:
    """The memory space of a reference, None for the default one."""
    return getattr(aval, "memory_space", None)


def memory_name(aval: Any) -> str:
    """vmem, smem, any, hbm, semaphore ...; the default space is vmem."""
    space = memory_space(aval)
    name = "vmem" if space is None else str(getattr(space, "value", space)).lower()
    return {"default": "vmem", "device": "vmem", "none": "vmem", "memoryspace.device": "vmem"}.get(name, name)


def is_semaphore(aval: Any) -> bool:
    """Whether a scratch reference is a semaphore (or an array of them)."""
    return not isinstance(_dtype_of(aval), np.dtype)


def _dtype_of(aval: Any) -> Any:
    return getattr(aval, "dtype", None)


class SameScratch:
    """Scratch allocation that repeats a captured one exactly (semaphores, which cannot be carried as arrays)."""

    def __init__(self, aval: Any) -> None:
        self.aval = aval
        self.shape, self.dtype = aval.shape, aval.dtype

    def get_ref_aval(self) -> Any:
        return self.aval

    def get_array_aval(self) -> Any:
        return self.aval.inner_aval


def written_refs(jaxpr: Any) -> set[int]:
    """Positions of the kernel's references that it (also inside branches and loops) writes to."""
    kinds = ("WriteEffect", "AccumEffect")
    positions: set[int] = set()
    for effect in jaxpr.effects:
        if type(effect).__name__ in kinds:
            where = effect.input if hasattr(effect, "input") else effect.input_index
            positions.add(where if isinstance(where, int) else list(jaxpr.invars).index(where))
    return positions


def argument_names(jaxpr: Any) -> tuple[str, ...]:
    """Parameter names of the kernel function, one a reference; empty where JAX does not keep them."""
    names = getattr(jaxpr.debug_info, "arg_names", None)
    return tuple(names) if names is not None and len(names) == len(jaxpr.invars) else ()


def vmem_limit(compiler_params: Any) -> int | None:
    """``vmem_limit_bytes`` of a kernel's compiler parameters."""
    if isinstance(compiler_params, dict):
        compiler_params = compiler_params.get("mosaic_tpu") or compiler_params.get("mosaic")
    return getattr(compiler_params, "vmem_limit_bytes", None)


def check() -> list[str]:
    """What this JAX release has moved away from under the engine, one line each; empty when all is in place."""
    try:
        problems = _check_call()
    except Exception as error:
        problems = [f"tracing a small kernel and looking into it raises {type(error).__name__}: {error}"]
    return [f"jax {jax.__version__}: {line}" for line in problems]


def _check_call() -> list[str]:
    def body(table_ref: Any, x_ref: Any, o_ref: Any, scratch_ref: Any) -> None:
        with jax.named_scope("stage"):
            scratch_ref[...] = x_ref[...] * 2.0
        o_ref[...] = scratch_ref[...]

    from jax.experimental import pallas as pl

    spec = pltpu.PrefetchScalarGridSpec(
        num_scalar_prefetch=1,
        grid=(2,),
        in_specs=[pl.BlockSpec((None, 8, 128), lambda i, table: (table[i], 0, 0))],
        out_specs=pl.BlockSpec((8, 128), lambda i, table: (i, 0)),
        scratch_shapes=[pltpu.VMEM((8, 128), jnp.float32)],
    )
    shape = jax.ShapeDtypeStruct((16, 128), jnp.float32)
    call = pl.pallas_call(body, grid_spec=spec, out_shape=shape, name="probe")
    traced = jax.make_jaxpr(call)(jnp.arange(2, dtype=jnp.int32), jnp.ones((2, 8, 128), jnp.float32))
    found = [e for e in open_jaxpr(traced)[0].eqns if e.primitive.name == "pallas_call"]
    if not found:
        return ["a traced kernel holds no pallas_call equation"]
    return _check_equation(found[0])


def _check_equation(equation: Any) -> list[str]:
    missing = [f"pallas_call has no parameter {name}" for name in _CALL_PARAMS if name not in equation.params]
    if missing:
        return missing
    mapping = equation.params["grid_mapping"]
    missing = [f"grid mapping has no {name}" for name in _GRID_FIELDS if not hasattr(mapping, name)]
    blocks: Any = getattr(mapping, "block_mappings", ())
    missing += [f"block mapping has no {n}" for n in _BLOCK_FIELDS if blocks and not hasattr(blocks[0], n)]
    if missing:
        return missing
    kernel = equation.params["jaxpr"]
    expected: dict[str, tuple[Any, Any]] = {
        "block dimensions": (block_dimensions(blocks[0]), [("Squeezed", 1), ("Blocked", 8), ("Blocked", 128)]),
        "parameter names": (argument_names(kernel), ("table_ref", "x_ref", "o_ref", "scratch_ref")),
        "written references": (written_refs(kernel), {2, 3}),
        "name scopes": ({scope_of(e) for e in kernel.eqns}, {"stage", ""}),
        "source function": (source_line(kernel.eqns[0])[2].rsplit(".", 1)[-1], "body"),
        "index map": ([int(i) for i in start_indices(blocks[0], (np.int32(1),), (jnp.array([0, 5]),))], [5, 0, 0]),
        "memory space": (memory_name(mapping.scratch_avals[0]), "vmem"),
    }
    return [f"{what}: {got} where {want} was due" for what, (got, want) in expected.items() if got != want]
