"""The settings of a session: what the command line, a TOML file and the window's fields all mean."""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import Any

import msgspec
import tomli_w

from explorer.session.atomic import write_atomically

LAYOUTS = ("bhnd", "bnhd")
DTYPES = ("float32", "bfloat16")
MASKS = ("none", "causal", "causal-bottom-right", "window", "segments", "array")
EMPTY_ROWS = ("zero", "mean-v", "nan")
OF_AN_INPUT = (
    "q_len", "kv_len", "heads", "kv_heads", "head_dim", "block_q", "block_kv", "mask", "window", "scale", "dtype",
)  # fmt: skip
"""Settings that suit one input and are left open again when another is taken."""
_CHOICES = {"layout": LAYOUTS, "dtype": DTYPES, "mask": MASKS, "empty_rows": EMPTY_ROWS}
_MAX_FILE_BYTES = 1 << 20


class ConfigurationError(ValueError):
    """A setting or a settings file that cannot be used; one line that names it and says what would do."""


class Configuration(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="kebab"):
    """Every field is an option of the same name on the command line. None is 'as the input has it' or the default.

    input: a built-in name (see ``inputs.names()``) or a path to .npz or .safetensors.
    layout: order of the dimensions in a file: bhnd or bnhd.
    dtype: float32 or bfloat16.
    mask: none, causal, causal-bottom-right, window, segments, array.
    window: (left, right) keys, used by mask window and the causal masks; None in it is unbounded.
    empty_rows: what a row that sees no key gives: zero, mean-v, nan.
    """

    input: str = "sentence-en"
    layout: str = "bhnd"
    q_len: int | None = None
    kv_len: int | None = None
    heads: int | None = None
    kv_heads: int | None = None
    head_dim: int | None = None
    dtype: str | None = None
    mask: str | None = None
    window: tuple[int | None, int | None] | None = None
    scale: float | None = None
    softcap: float | None = None
    empty_rows: str = "zero"
    seed: int = 0
    kernel: str = "flash"
    block_q: int | None = None
    block_kv: int | None = None
    chip: str = "v5e"

    def replace(self, **changes: Any) -> Configuration:
        """A copy with some fields changed."""
        return msgspec.structs.replace(self, **changes)


def check_choices(configuration: Configuration) -> None:
    """Raises ConfigurationError where a field with fixed choices has another value."""
    for name, choices in _CHOICES.items():
        value = getattr(configuration, name)
        if value is not None and value not in choices:
            raise ConfigurationError(f"{name.replace('_', '-')} '{value}' is not known: use {', '.join(choices)}")


def loads(text: str) -> Configuration:
    """A configuration from TOML text. ``window`` is written as text, as on the command line: ``window = "128,"``.

    Raises ConfigurationError, one line, for bad TOML, unknown keys, wrong types and unknown choices.
    """
    try:
        table = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigurationError(f"not valid TOML: {_one_line(error)}") from error
    if isinstance(table.get("window"), str):
        table["window"] = parse_window(table["window"])
    try:
        configuration = msgspec.convert(table, Configuration)
    except msgspec.ValidationError as error:
        raise ConfigurationError(_explain(error)) from error
    check_choices(configuration)
    return configuration


def dumps(configuration: Configuration) -> str:
    """TOML text of what differs from the defaults, with ``input`` and ``kernel`` always. ``loads`` takes it back."""
    table = {name: value for name, value in msgspec.to_builtins(configuration).items() if value is not None}
    defaults = msgspec.to_builtins(Configuration())
    if configuration.window is not None:
        table["window"] = format_window(configuration.window)
    always = ("input", "kernel")
    return tomli_w.dumps({name: value for name, value in table.items() if name in always or value != defaults[name]})


def load(path: str | os.PathLike[str]) -> Configuration:
    """The configuration in a TOML file. A relative ``input`` file in it is relative to the TOML file.

    Raises ConfigurationError, one line that names the file.
    """
    path = Path(path)
    try:
        if path.stat().st_size > _MAX_FILE_BYTES:
            raise ConfigurationError(f"{path}: too large for a settings file")
        configuration = loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigurationError(f"{path}: {error.strerror or _one_line(error)}") from error
    except UnicodeDecodeError as error:
        raise ConfigurationError(f"{path}: not a text file in UTF-8") from error
    except ConfigurationError as error:
        raise error if str(error).startswith(str(path)) else ConfigurationError(f"{path}: {error}") from error
    beside = path.parent / configuration.input
    if is_file_name(configuration.input) and not Path(configuration.input).is_absolute() and beside.exists():
        configuration = configuration.replace(input=str(beside))
    return configuration


def save(configuration: Configuration, path: str | os.PathLike[str]) -> None:
    """Write the configuration as TOML in one move; an input file is written by its full path.

    Raises ConfigurationError where the file cannot be written; what was there before is then untouched.
    """
    if is_file_name(configuration.input):
        configuration = configuration.replace(input=os.path.abspath(configuration.input))
    try:
        write_atomically(path, dumps(configuration).encode())
    except OSError as error:
        raise ConfigurationError(f"{path}: not saved: {error.strerror or _one_line(error)}") from error


def is_file_name(name: str) -> bool:
    """Whether an ``input`` names a file and not a built-in input."""
    return name.lower().endswith((".npz", ".safetensors")) or "/" in name or os.sep in name


def parse_window(text: str) -> tuple[int | None, int | None]:
    """'128,0' -> (128, 0); '128,' -> (128, None); ',0' -> (None, 0). Raises ConfigurationError."""
    parts = [part.strip() for part in text.split(",")]
    if len(parts) != 2 or not all(part == "" or (part.isascii() and part.isdigit()) for part in parts):
        raise ConfigurationError(f"window '{text}' is not LEFT,RIGHT in keys: use for example 128,0 or 128, or ,0")
    left, right = (int(part) if part else None for part in parts)
    return left, right


def format_window(window: tuple[int | None, int | None]) -> str:
    """Inverse of ``parse_window``."""
    return ",".join("" if side is None else str(side) for side in window)


def _explain(error: msgspec.ValidationError) -> str:
    """msgspec's message with its path (`$.q-len`) turned into the key's name."""
    message, _, place = _one_line(error).partition(" - at `$.")
    if "unknown field" in message:
        name = message.split("`")[-2]
        known = ", ".join(field.encode_name for field in msgspec.structs.fields(Configuration))
        return f"unknown key '{name}': known are {known}"
    return f"{place.rstrip('`')}: {message}" if place else message


def _one_line(error: BaseException) -> str:
    return " ".join(str(error).split())
