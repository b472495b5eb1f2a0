"""The shared cases as inputs: each is small, has known right values, and shows a known mistake of attention kernels."""

from __future__ import annotations

import functools

from explorer.session.attention_inputs import AttentionInputs, InputError
from explorer.session.config import Configuration
from kernels import cases
from kernels.problem import AttentionProblem


def titles() -> dict[str, str]:
    """Name to title (why the case exists) of each case; empty where the assets are missing."""
    return {name: f"{name}: {case.why}" for name, case in _cases().items()}


def load(name: str, configuration: Configuration) -> AttentionInputs:
    """Case ``name`` with the settings it is about. Every column of its O should hold the case's output."""
    del configuration  # lengths are cropped when the problem is built
    case = _cases()[name]
    return AttentionInputs(
        name=name,
        title=titles()[name],
        q=case.q,
        k=case.k,
        v=case.v,
        mask=None if case.allowed is None else case.allowed[None, None],
        source="shared case with known right values",
        defaults={
            **_mask_settings(case.problem),
            "scale": case.problem.scale_in_force,
            "block_q": case.blocks.block_q,
            "block_kv": case.blocks.block_kv,
        },
        notes=(f"A case with known right values: {case.why}.",),
    )


def _mask_settings(problem: AttentionProblem) -> dict[str, object]:
    """The settings that give a case's mask."""
    if problem.causal:
        return {"mask": "causal" if problem.alignment == "top-left" else "causal-bottom-right"}
    if problem.window is not None:
        return {"mask": "window", "window": problem.window}
    return {"mask": "none" if problem.mask is None else "array"}


@functools.cache
def _cases() -> dict[str, cases.Case]:
    try:
        return {case.name: case for case in cases.load()}
    except (FileNotFoundError, ModuleNotFoundError):
        return {}
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(f"the shared cases are damaged ({error}): install Tilescope again") from error
