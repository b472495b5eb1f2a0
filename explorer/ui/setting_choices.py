"""What the settings offer: kernels, inputs, masks and chips, each with why it cannot be taken where that is so."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath

from explorer.session import inputs as known_inputs
from explorer.session.config import MASKS, is_file_name
from explorer.session.problem import setting
from explorer.session.state import StepState
from explorer.ui.chips import Choice

OPEN_FILE = "open a file"
MASK_WORDS = {
    "none": "none", "causal": "causal", "causal-bottom-right": "causal, bottom-right", "window": "window",
    "segments": "segments", "array": "array",
}  # fmt: skip
_PRESETS = "Presets"


def kernel_choices(state: StepState) -> list[Choice]:
    """Every kernel known to the engine; those that cannot take the problem carry its refusal."""
    if state.kernels is None:
        name = state.configuration.kernel
        return [Choice(name, name)]
    return [
        Choice(kernel.name, f"{kernel.name}: {kernel.title}" if kernel.title != kernel.name else kernel.name,
               kernel.refusal)
        for kernel in state.kernels.kernels
    ]  # fmt: skip


def chip_choices(state: StepState) -> list[Choice]:
    known = state.kernels.chips if state.kernels is not None else (state.configuration.chip,)
    return [Choice(name, name) for name in known]


def mask_choices(state: StepState) -> list[Choice]:
    """All masks; what the present input cannot give says so. Presets make what a mask asks for."""
    inputs = state.inputs
    refusals = {}
    if inputs is not None and inputs.name == state.configuration.input and not _is_preset(inputs.name):
        if inputs.q_segment_ids is None:
            refusals["segments"] = "This input has no q_segment_ids and kv_segment_ids"
        if inputs.mask is None:
            refusals["array"] = "This input has no boolean array named mask"
    return [Choice(mask, MASK_WORDS[mask], refusals.get(mask, "")) for mask in MASKS]


def input_choices(recent: Sequence[str]) -> list[Choice]:
    """Built-in inputs by group, files used last by their paths, and a way to another file."""
    built_in = [Choice(entry.name, entry.title, group=entry.group) for entry in known_inputs.names()]
    files = [Choice(path, path, group="Recent files") for path in recent if is_file_name(path)]
    return [*built_in, *files, Choice(OPEN_FILE, "Open a file…  (Ctrl+O)", group="Files")]


def input_title(state: StepState) -> str:
    """The input in a few words: the title up to its first colon, or the name of its file."""
    asked, inputs = state.configuration.input, state.inputs
    titles = {entry.name: entry.title for entry in known_inputs.names()}
    if asked in titles:
        return titles[asked].split(": ")[0]
    return PurePath(asked).name if is_file_name(asked) or inputs is None else inputs.title


def input_tip(state: StepState) -> str:
    """Title, path, source and licence of the input, a line each."""
    inputs, asked = state.inputs, state.configuration.input
    if inputs is None or inputs.name != asked:
        return f"Where q, k and v come from: {asked}"
    parts = (inputs.title, asked if is_file_name(asked) else "", inputs.source, inputs.licence)
    return "\n".join(dict.fromkeys(part for part in parts if part))


def mask_in_force(state: StepState) -> str:
    """What was asked for, else what a window alone means, else what suits the input, else what it carries."""
    asked, inputs = state.configuration, state.inputs
    if asked.mask is not None:
        return asked.mask
    if asked.window is not None:
        return "window"
    if inputs is None:
        return "none"
    carried = "segments" if inputs.q_segment_ids is not None else "array" if inputs.mask is not None else "none"
    return str(setting(asked, inputs, "mask", None) or carried)


def block_note(state: StepState, name: str) -> str:
    """'→ 96' where a block longer than its sequence was asked for and the whole sequence is in force; else ''.

    name: block_q or block_kv.
    """
    asked, configured = getattr(state.configuration, name), state.configured
    if asked is None or configured is None:
        return ""
    problem = configured.problem
    length = problem.q_len if name == "block_q" else problem.kv_len
    in_force = getattr(configured.blocks, name)
    return f"→ {in_force}" if asked > in_force == length else ""


def _is_preset(name: str) -> bool:
    return any(entry.name == name and entry.group == _PRESETS for entry in known_inputs.names())
