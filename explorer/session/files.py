"""q, k, v and what goes with them from .npz and .safetensors files: names, shapes and values checked, never pickle.

Arrays: ``q``, ``k``, ``v`` (float16, bfloat16, float32, float64; all 2-D, 3-D or 4-D) and, where wanted, ``mask``,
``bias``, ``q_segment_ids``, ``kv_segment_ids``, ``kv_lengths``, ``padding_id``. Token texts are a unicode array
``tokens`` (and ``kv_tokens``) in .npz, and a JSON list of strings under the same keys of the metadata in .safetensors.
"""

from __future__ import annotations

import functools
import os
from pathlib import Path

import numpy as np

from explorer.session import estimate
from explorer.session.array_files import ArrayFile, read_npz, read_safetensors
from explorer.session.array_shapes import heads_first, ids_2d, pairs_4d, tokens_for
from explorer.session.attention_inputs import AttentionInputs, InputError
from explorer.units import number_text

_READERS = {".npz": read_npz, ".safetensors": read_safetensors}
_FLOATS = ("float16", "bfloat16", "float32", "float64")


def load(path: str, layout: str = "bhnd") -> AttentionInputs:
    """The input in a file. ``layout`` "bnhd" says that heads come after the length ((n, h, d) in 3-D).

    The file read last is kept until it changes on disk, so that a change of other settings does not read it again.
    Raises InputError with one line that names the file and what is wrong with it.
    """
    check_path(path)
    try:
        found = os.stat(path)
        return _load(path, layout, found.st_mtime_ns, found.st_size)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    except OSError as error:
        raise InputError(f"{path}: {error.strerror or error}") from error


def check_path(path: str) -> None:
    """Raises InputError where ``path`` can be no input, before it is opened."""
    if Path(path).suffix.lower() not in _READERS:
        raise InputError(f"{path}: an input file is .npz or .safetensors")
    if Path(path).is_dir():
        raise InputError(f"{path}: this is a folder; give the file in it")
    if not Path(path).exists():
        raise InputError(f"{path}: no such file")


@functools.lru_cache(maxsize=1)
def _load(name: str, layout: str, changed: int, size: int) -> AttentionInputs:
    """``changed`` and ``size`` are those of the file, and part of what the cache goes by."""
    del changed, size
    path = Path(name)
    file = _READERS[path.suffix.lower()](path, estimate.available_memory() // 2)
    q, k, v = _queries_keys_values(file, layout)
    _check_together(q, k, v)
    batch, heads, q_len, _ = q.shape
    kv_len = k.shape[2]
    pairs = (batch, heads, q_len, kv_len)
    q_tokens, kv_tokens = tokens_for(file.tokens, file.kv_tokens, q_len, kv_len)
    q_ids, kv_ids = _segment_ids(file, batch, q_len, kv_len)
    mask, bias, lengths = file.arrays.get("mask"), file.arrays.get("bias"), file.arrays.get("kv_lengths")
    return AttentionInputs(
        name=name,
        title=path.name,
        q=q,
        k=k,
        v=v,
        q_tokens=q_tokens,
        kv_tokens=kv_tokens,
        mask=None if mask is None else pairs_4d("mask", _truth(mask), pairs),
        bias=None if bias is None else pairs_4d("bias", _bias(bias), pairs),
        q_segment_ids=q_ids,
        kv_segment_ids=kv_ids,
        kv_lengths=None if lengths is None else _lengths(lengths, batch, kv_len),
        source=str(path),
        defaults={"dtype": "bfloat16"} if file.arrays["q"].dtype.name == "bfloat16" else {},
        padding_id=_padding_id(file.arrays.get("padding_id")),
    )


def _queries_keys_values(file: ArrayFile, layout: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    missing = [name for name in ("q", "k", "v") if name not in file.arrays]
    if missing:
        found = ", ".join(file.names[:12]) + (", ..." if len(file.names) > 12 else "")
        raise InputError(f"has no {' and no '.join(missing)}: an input needs q, k and v; found {found or 'nothing'}")
    dimensions = {name: file.arrays[name].ndim for name in "qkv"}
    if len(set(dimensions.values())) > 1:
        shapes = ", ".join(f"{name} {file.arrays[name].shape}" for name in "qkv")
        raise InputError(f"q, k and v have different numbers of dimensions: {shapes}")
    q, k, v = (_floats(name, heads_first(name, file.arrays[name], layout)) for name in "qkv")
    return q, k, v


def _floats(name: str, values: np.ndarray) -> np.ndarray:
    """float32, checked to be non-empty and finite. What overflows float32 is refused as such."""
    if values.dtype.name not in _FLOATS:
        hint = "; .npz cannot hold bfloat16, .safetensors can" if values.dtype.kind == "V" else ""
        raise InputError(f"{name} has dtype {values.dtype}: use one of {', '.join(_FLOATS)}{hint}")
    if values.size == 0:
        raise InputError(f"{name} is empty: its shape is {values.shape}")
    with np.errstate(over="ignore"):
        converted = np.ascontiguousarray(values, dtype=np.float32)
    finite = np.isfinite(converted)
    if not finite.all():
        bad = tuple(int(index) for index in np.argwhere(~finite)[0])
        value = float(values[bad])
        what = f"{value:.3g}, too large for float32," if np.isfinite(value) else number_text(value)
        raise InputError(
            f"{name} holds {what} at (batch, head, row, column) {bad}; {np.count_nonzero(~finite)} of {finite.size} "
            "numbers are not finite, and all must be"
        )
    return converted


def _check_together(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> None:
    """Raises InputError where (batch, heads, length, head_dim) of q, k and v do not fit together."""
    shapes = f"q {q.shape}, k {k.shape}, v {v.shape} as (batch, heads, length, head dim)"
    if k.shape != v.shape:
        raise InputError(f"k and v must have the same shape: {shapes}")
    if q.shape[0] != k.shape[0]:
        raise InputError(f"q and k have different batch sizes: {shapes}")
    if q.shape[3] != k.shape[3]:
        raise InputError(f"q and k have different head dims: {shapes}")
    if q.shape[1] % k.shape[1]:
        hint = "; if heads come after the length, use layout bnhd" if q.shape[2] == k.shape[2] else ""
        raise InputError(f"the {q.shape[1]} heads of q are no multiple of the {k.shape[1]} of k{hint}: {shapes}")


def _truth(mask: np.ndarray) -> np.ndarray:
    if mask.dtype == np.bool_:
        return mask
    if mask.dtype.kind in "iu" and mask.size and bool(np.isin(mask, (0, 1)).all()):
        return mask.astype(bool)
    raise InputError(f"mask has dtype {mask.dtype}: use bool, True where a query sees a key; numbers to add are bias")


def _bias(bias: np.ndarray) -> np.ndarray:
    if bias.dtype.name not in _FLOATS:
        raise InputError(f"bias has dtype {bias.dtype}: use one of {', '.join(_FLOATS)}")
    with np.errstate(over="ignore"):
        bias = np.asarray(bias, dtype=np.float32)
    if np.isnan(bias).any() or np.isposinf(bias).any():
        raise InputError("bias holds NaN or +inf: it may be finite, or -inf where a pair is masked")
    return bias


def _segment_ids(file: ArrayFile, batch: int, q_len: int, kv_len: int) -> tuple[np.ndarray | None, np.ndarray | None]:
    q_ids, kv_ids = file.arrays.get("q_segment_ids"), file.arrays.get("kv_segment_ids")
    if q_ids is None and kv_ids is None:
        return None, None
    if q_ids is None or kv_ids is None:
        raise InputError("q_segment_ids and kv_segment_ids go together: the file has only one of them")
    return ids_2d("q_segment_ids", q_ids, batch, q_len), ids_2d("kv_segment_ids", kv_ids, batch, kv_len)


def _lengths(lengths: np.ndarray, batch: int, kv_len: int) -> np.ndarray:
    if lengths.dtype.kind not in "iu" or lengths.shape != (batch,):
        raise InputError(f"kv_lengths must be whole numbers of shape ({batch},), one for each batch element")
    if (lengths < 0).any() or (lengths > kv_len).any():
        raise InputError(f"kv_lengths must lie between 0 and the key length {kv_len}")
    return lengths.astype(np.int32)


def _padding_id(value: np.ndarray | None) -> int | None:
    if value is None:
        return None
    if value.dtype.kind not in "iu" or value.size != 1:
        raise InputError("padding_id must be one whole number")
    return int(value.reshape(()))
