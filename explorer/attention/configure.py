"""Putting a kernel on the bench: refuse what cannot be, round the inputs, capture, plan, compile."""

from __future__ import annotations

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from explorer.attention import lens as lenses, plan
from explorer.attention.errors import WorkbenchError
from explorer.attention.memory import memory_info, memory_not_driven
from explorer.attention.references import References
from explorer.attention.subject import Driven, Operands, Subject
from explorer.engine import timing as engine_timing
from explorer.engine.capture import CaptureError, capture
from explorer.engine.driver import Driver
from explorer.engine.pipeline import Pipeline, padded_bytes
from explorer.engine.progress import Progress
from explorer.link.messages import Configure, Configured, OperandInfo, Timeline
from explorer.tpu import chips
from kernels import catalog, masks
from kernels.problem import AttentionProblem

_INTERPRETER_NOTE = (
    "The Pallas interpreter accepts block shapes, VMEM sizes and out-of-bounds reads that a TPU refuses; "
    "it says nothing about TPU speed."
)


def put_on_bench(request: Configure, inputs: Operands, progress: Progress) -> Subject:
    """A subject ready to be driven. Raises WorkbenchError saying what is wrong and what would do."""
    problem = request.problem
    _check_shapes(problem, inputs)
    kernel = _kernel(request.kernel)
    blocks = request.blocks.clamped(problem)
    refusal = kernel.refusal(problem, blocks, jax.default_backend())
    if refusal:
        raise WorkbenchError("kernel", refusal)
    chip = _chip(request.chip)
    progress("rounding inputs", 0, 3)
    arguments = tuple(jnp.asarray(array, jnp.dtype(problem.dtype)) for array in inputs)
    q, k, v = (np.asarray(array.astype(jnp.float32)) for array in arguments)
    function = kernel.build(problem, blocks)
    references = References(problem, q, k, v)
    progress("capturing the kernel", 1, 3)
    began = time.perf_counter()
    driven = _drive(request.kernel, function, arguments, problem, blocks) if kernel.is_pallas else None
    if driven is not None:
        progress("compiling the instrumented step", 2, 3)
        driven.driver.step(0, progress)
    interpreted = kernel.is_pallas and jax.default_backend() != "tpu"
    return Subject(
        problem=problem, blocks=blocks, kernel=kernel, chip=chip, operands=(q, k, v), function=function,
        arguments=arguments, references=references, driven=driven, ran_on=engine_timing.where_it_ran(interpreted),
        compile_ms=(time.perf_counter() - began) * 1e3,
    )  # fmt: skip


def _check_shapes(problem: AttentionProblem, inputs: Operands) -> None:
    kv = (problem.batch, problem.kv_head_count, problem.kv_len, problem.head_dim)
    wanted = ((problem.batch, problem.heads, problem.q_len, problem.head_dim), kv, kv)
    for name, array, shape in zip("qkv", inputs, wanted, strict=True):
        if array.shape != shape:
            raise WorkbenchError("input", f"{name} has shape {array.shape}, the problem needs {shape}")


def _kernel(name: str) -> catalog.AttentionKernel:
    try:
        return catalog.get(name)
    except catalog.Unsupported as error:
        raise WorkbenchError("input", str(error)) from error


def _chip(name: str):
    try:
        return chips.chip(name)
    except ValueError as error:
        raise WorkbenchError("input", str(error)) from error


def _drive(name: str, function, arguments: tuple, problem: AttentionProblem, blocks) -> Driven:
    try:
        program = capture(function, *arguments)
    except CaptureError as error:
        raise WorkbenchError("kernel", f"{name} cannot be driven: {error}") from error
    pipeline = Pipeline(program)
    lens = lenses.find(name, program)
    order = plan.step_order(program, lens)
    computed = plan.computed_steps(order, problem, blocks, lens)
    return Driven(program, Driver(program), pipeline, lens, order, computed, masks.tile_states(problem, blocks))


def configured_reply(request_id: int, subject: Subject) -> Configured:
    """What the window is told of a subject."""
    driven = subject.driven
    common: dict[str, Any] = dict(
        id=request_id, problem=subject.problem.replace(scale=subject.problem.scale_in_force), blocks=subject.blocks,
        kernel=subject.kernel.name, kernel_title=subject.kernel.title, chip=subject.chip, ran_on=subject.ran_on,
        compile_ms=subject.compile_ms,
    )  # fmt: skip
    if driven is None:
        return Configured(
            **common, lens="", driven=False, grid=(), grid_names=(), steps=0, operands=(), timeline=_no_timeline(),
            reason_not_driven=f"{subject.kernel.title} is no Pallas kernel: it runs whole and is timed, "
            "but has no grid to step through.",
            order=np.zeros((0, 4), np.int32), tile_states=masks.tile_states(subject.problem, subject.blocks),
            memory=memory_not_driven(subject.problem, subject.chip),
        )  # fmt: skip
    program, lens = driven.program, driven.lens
    return Configured(
        **common, lens=lens.title, driven=True, grid=tuple(program.grid), grid_names=lens.grid_names,
        steps=program.steps, order=driven.order, tile_states=driven.tile_states, operands=_operands(driven),
        timeline=plan.timeline(
            program, driven.pipeline, lens, subject.problem, subject.blocks, driven.computed, subject.chip
        ),
        memory=memory_info(program, driven.pipeline, lens, subject.problem, subject.blocks, subject.chip),
        notes=(_INTERPRETER_NOTE,) if jax.default_backend() != "tpu" else (),
    )  # fmt: skip


def _operands(driven: Driven) -> tuple[OperandInfo, ...]:
    listed = []
    for item in driven.program.operands:
        name, itemsize = driven.lens.display(item.name), np.dtype(item.dtype).itemsize
        grid = tuple(-(-n // b) for n, b in zip(item.shape, item.block_shape, strict=True))
        listed.append(
            OperandInfo(
                name=name, role=lenses.role(name), direction=item.direction,
                shape=tuple(item.shape), dtype=str(item.dtype), block_shape=tuple(item.block_shape), block_grid=grid,
                bytes=int(np.prod(item.shape)) * itemsize, block_bytes=int(np.prod(item.block_shape)) * itemsize,
                block_bytes_padded=padded_bytes(item.block_shape, item.dtype), memory=item.memory,
            )
        )  # fmt: skip
    return tuple(listed)


def _no_timeline() -> Timeline:
    none = np.zeros(0)
    return Timeline(
        inputs=(), outputs=(), load_bytes=np.zeros((0, 0), np.int64), store_bytes=np.zeros((0, 0), np.int64),
        computed=np.zeros(0, bool), row_block=np.zeros(0, np.int32), load_us=none, compute_us=none, store_us=none,
        model="",
    )  # fmt: skip
