"""Where q, k and v come from: shipped captures, presets, the shared cases, and files. NumPy only, never pickle."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.session import captures, files, presets, shared_cases
from explorer.session.attention_inputs import AttentionInputs, InputError
from explorer.session.config import Configuration, ConfigurationError, check_choices, is_file_name

__all__ = ["AttentionInputs", "InputError", "InputName", "load_inputs", "names"]


@dataclass(frozen=True)
class InputName:
    """An entry of the input menu: ``name`` is what ``Configuration.input`` takes."""

    name: str
    title: str
    group: str


def names() -> tuple[InputName, ...]:
    """Everything built in, in menu order: real sentences, presets, shared cases."""
    groups = (
        ("Real sentences", captures.titles()),
        ("Presets", presets.titles()),
        ("Shared cases", shared_cases.titles()),
    )
    return tuple(InputName(name, title, group) for group, titles in groups for name, title in titles.items())


def load_inputs(configuration: Configuration) -> AttentionInputs:
    """The arrays that ``configuration.input`` names; presets are generated at the lengths and heads it asks for.

    Raises InputError or ProblemError (sizes that memory does not hold) with one clear line.
    """
    try:
        check_choices(configuration)
    except ConfigurationError as error:
        raise InputError(str(error)) from error
    name = configuration.input
    for source in (captures, presets, shared_cases):
        if name in source.titles():
            return source.load(name, configuration)
    if is_file_name(name):
        return files.load(name, configuration.layout)
    known = ", ".join(entry.name for entry in names() if entry.group != "Shared cases")
    raise InputError(f"input '{name}' is not known: use {known}, a shared case, or a .npz or .safetensors file")
