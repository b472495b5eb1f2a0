"""Reading named arrays out of .npz and .safetensors: sizes looked at before anything is read, every fault one line."""

from __future__ import annotations

import json
import math
import struct
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np

from explorer.session.attention_inputs import InputError
from explorer.units import byte_text

ARRAYS = ("q", "k", "v", "mask", "bias", "q_segment_ids", "kv_segment_ids", "kv_lengths", "padding_id")
TEXTS = ("tokens", "kv_tokens")
_NPZ_FAULTS = (
    zipfile.BadZipFile, zlib.error, EOFError, OSError, ValueError, KeyError, struct.error, RuntimeError,
    NotImplementedError, SyntaxError, TypeError, OverflowError,
)  # fmt: skip


@dataclass(frozen=True)
class ArrayFile:
    """What a file holds of the arrays that an input may have; ``names`` is everything found in it."""

    arrays: Mapping[str, np.ndarray]
    names: tuple[str, ...]
    tokens: tuple[str, ...] | None = None
    kv_tokens: tuple[str, ...] | None = None


def read_npz(path: Path, budget: int) -> ArrayFile:
    """The known arrays of an .npz file, each at most ``budget`` bytes.

    Raises InputError: not an .npz, truncated, arrays of Python objects, too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = tuple(name.removesuffix(".npy") for name in archive.namelist())
            wanted = [name for name in (*ARRAYS, *TEXTS) if name in names]
            arrays = {name: _read_member(archive, name, budget) for name in wanted}
    except InputError:
        raise
    except _NPZ_FAULTS as error:
        raise InputError(f"not a whole .npz file: {_why(error)}") from error
    texts = {name: _texts(name, arrays.pop(name)) for name in TEXTS if name in arrays}
    return ArrayFile(arrays, names, texts.get("tokens"), texts.get("kv_tokens"))


def read_safetensors(path: Path, budget: int) -> ArrayFile:
    """The known arrays of a .safetensors file; token texts are JSON lists in its metadata. Raises InputError."""
    import ml_dtypes  # noqa: F401 - makes bfloat16 known to NumPy
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            names, metadata = tuple(file.keys()), file.metadata() or {}
            arrays = {name: _read_tensor(file, name, budget) for name in ARRAYS if name in names}
    except InputError:
        raise
    except (SafetensorError, OSError, ValueError, TypeError, AttributeError) as error:
        raise InputError(f"not a whole .safetensors file: {_why(error)}") from error
    tokens, kv_tokens = (_json_texts(name, metadata[name]) if name in metadata else None for name in TEXTS)
    return ArrayFile(arrays, names, tokens, kv_tokens)


def _read_member(archive: zipfile.ZipFile, name: str, budget: int) -> np.ndarray:
    """One array: its header is read first, so that neither a pickle nor a huge shape is ever unpacked."""
    member = f"{name}.npy" if f"{name}.npy" in archive.namelist() else name
    with archive.open(member) as stream:
        shape, dtype = _read_header(stream)
    if dtype.hasobject:
        raise InputError(f"{name} holds Python objects (pickle), which are never loaded: save it as a plain array")
    _check_size(name, shape, dtype.itemsize, budget)
    with archive.open(member) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _read_header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype]:
    version = np.lib.format.read_magic(stream)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(stream)
    return shape, dtype


def _read_tensor(file: Any, name: str, budget: int) -> np.ndarray:
    view = file.get_slice(name)
    _check_size(name, tuple(view.get_shape()), 8, budget)
    try:
        return file.get_tensor(name)
    except (TypeError, AttributeError, KeyError) as error:
        raise InputError(f"{name} has dtype {view.get_dtype()}, which is not read here: use F16, BF16, F32") from error


def _check_size(name: str, shape: tuple[int, ...], item_bytes: int, budget: int) -> None:
    size = math.prod(shape) * item_bytes
    if size > budget:
        raise InputError(
            f"{name} of shape {shape} needs {byte_text(size)}, more than the {byte_text(budget)} that may be taken "
            "here (half of the free memory): cut it into parts"
        )


def _texts(name: str, values: np.ndarray) -> tuple[str, ...]:
    if values.dtype.kind != "U" or values.ndim != 1:
        raise InputError(f"{name} must be a one-dimensional array of text (dtype U), not {values.dtype} {values.shape}")
    return tuple(str(text) for text in values)


def _json_texts(name: str, text: str) -> tuple[str, ...]:
    try:
        texts = json.loads(text)
    except (ValueError, RecursionError):
        texts = None
    if not isinstance(texts, list) or not all(isinstance(entry, str) for entry in texts):
        raise InputError(f"the metadata '{name}' must be a JSON list of texts")
    return tuple(texts)


def _why(error: BaseException) -> str:
    """First line of what the reader said, without its class."""
    text = str(error.strerror if isinstance(error, OSError) and error.strerror else error)
    return text.strip().splitlines()[0][:160] if text.strip() else "it ends too early"
