"""The session: settings, inputs, cursor, undo and files. No Qt, no JAX."""

from explorer.session.attention_inputs import AttentionInputs, InputError
from explorer.session.config import Configuration, ConfigurationError
from explorer.session.inputs import InputName, load_inputs, names
from explorer.session.problem import build_problem

__all__ = [
    "AttentionInputs",
    "Configuration",
    "ConfigurationError",
    "InputError",
    "InputName",
    "build_problem",
    "load_inputs",
    "names",
]
