"""From settings and an input to the problem, tile sizes and arrays that the engine gets."""

from __future__ import annotations

import math
from typing import Any, cast

import numpy as np

from explorer.session import estimate
from explorer.session.attention_inputs import AttentionInputs
from explorer.session.config import Configuration, ConfigurationError, check_choices
from kernels.flash.block_sizes import BlockSizes
from kernels.problem import AttentionProblem, ProblemError

DEFAULT_BLOCK = 128
_WINDOWED = ("window", "causal", "causal-bottom-right")


def build_problem(
    configuration: Configuration, inputs: AttentionInputs
) -> tuple[AttentionProblem, BlockSizes, np.ndarray, np.ndarray, np.ndarray]:
    """The problem, its tile sizes, and q (b, h, q_len, d), k, v (b, hk, kv_len, d), float32.

    Asked for less than the input has, its first queries, keys, heads and dimensions are taken. Tiles larger than a
    sequence become the whole sequence. Raises ProblemError, one line, for sizes of 0, more than the input has, masks
    that the input cannot give, and what memory does not hold.
    """
    try:
        check_choices(configuration)
    except ConfigurationError as error:
        raise ProblemError(str(error)) from error
    estimate.check_positive(configuration)
    q, k, v = _crop(configuration, inputs)
    blocks = block_sizes(configuration, inputs, q.shape[2], k.shape[2])
    held = [array for array in (inputs.mask, inputs.bias) if array is not None]
    pair_bytes = sum(array.itemsize * array[..., 0, 0].size for array in held)
    estimate.check_sizes(
        estimate.Sizes(q.shape, k.shape, blocks.block_q, blocks.block_kv, configuration.kernel, pair_bytes)
    )
    batch, heads, q_len, head_dim = q.shape
    problem = AttentionProblem(
        batch=batch,
        heads=heads,
        kv_heads=k.shape[1],
        q_len=q_len,
        kv_len=k.shape[2],
        head_dim=head_dim,
        dtype=cast(Any, setting(configuration, inputs, "dtype", "float32")),
        scale=_finite("scale", setting(configuration, inputs, "scale", None)),
        softcap=_finite("softcap", setting(configuration, inputs, "softcap", None)),
        empty_rows=cast(Any, configuration.empty_rows),
        bias=_crop_pairs(inputs.bias, q.shape, k.shape),
        **_mask_fields(configuration, inputs, q.shape, k.shape),
    )
    return problem, blocks, q, k, v


def setting(configuration: Configuration, inputs: AttentionInputs, name: str, default: Any) -> Any:
    """A field in force: what the user asked for, else what suits the input, else ``default``."""
    value = getattr(configuration, name)
    return inputs.defaults.get(name, default) if value is None else value


def block_sizes(configuration: Configuration, inputs: AttentionInputs, q_len: int, kv_len: int) -> BlockSizes:
    """Tile sizes in force, at most the sequence lengths."""
    block_q = setting(configuration, inputs, "block_q", DEFAULT_BLOCK)
    block_kv = setting(configuration, inputs, "block_kv", DEFAULT_BLOCK)
    return BlockSizes(block_q=min(int(block_q), q_len), block_kv=min(int(block_kv), kv_len))


def clamped_note(configuration: Configuration, blocks: BlockSizes) -> str:
    """'' or a line that says which tile sizes were larger than their sequence, and what they became."""
    asked = {"block-q": (configuration.block_q, blocks.block_q), "block-kv": (configuration.block_kv, blocks.block_kv)}
    parts = [f"{name} {was} is now {now}" for name, (was, now) in asked.items() if was is not None and was > now]
    return f"{' and '.join(parts)}, the whole sequence" if parts else ""


def _crop(configuration: Configuration, inputs: AttentionInputs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, k, v = inputs.q, inputs.k, inputs.v
    heads, kv_heads = _head_counts(configuration, q.shape[1], k.shape[1])
    q_len = _at_most("q-len", configuration.q_len, q.shape[2], "queries")
    kv_len = _at_most("kv-len", configuration.kv_len, k.shape[2], "keys")
    head_dim = _at_most("head-dim", configuration.head_dim, q.shape[3], "dimensions a head")
    return (
        np.ascontiguousarray(q[:, :heads, :q_len, :head_dim]),
        np.ascontiguousarray(k[:, :kv_heads, :kv_len, :head_dim]),
        np.ascontiguousarray(v[:, :kv_heads, :kv_len, :head_dim]),
    )


def _head_counts(configuration: Configuration, heads: int, kv_heads: int) -> tuple[int, int]:
    """Query and kv heads to take. Fewer query heads alone keep the group size, as far as it divides them."""
    asked = _at_most("heads", configuration.heads, heads, "heads")
    if configuration.kv_heads is not None:
        asked_kv = _at_most("kv-heads", configuration.kv_heads, kv_heads, "kv heads")
        if asked % asked_kv:
            raise ProblemError(f"kv-heads {asked_kv} does not divide heads {asked}: use {_divisors(asked, kv_heads)}")
        return asked, asked_kv
    group = heads // kv_heads
    if asked > group and asked % group:
        fits = ", ".join(str(count * group) for count in range(1, kv_heads + 1))
        raise ProblemError(f"heads {asked} does not fit groups of {group} query heads for each kv head: use {fits}")
    return asked, math.ceil(asked / group)


def _divisors(heads: int, at_most: int) -> str:
    return ", ".join(str(count) for count in range(1, at_most + 1) if heads % count == 0)


def _at_most(option: str, asked: int | None, have: int, what: str) -> int:
    if asked is not None and asked > have:
        raise ProblemError(f"{option} {asked} is more than this input has: it has {have} {what}; use at most {have}")
    return have if asked is None else asked


def _finite(option: str, value: Any) -> float | None:
    if value is not None and not math.isfinite(value):
        raise ProblemError(f"{option} {value} is not a finite number")
    return None if value is None else float(value)


def _mask_fields(
    configuration: Configuration, inputs: AttentionInputs, q_shape: tuple[int, ...], k_shape: tuple[int, ...]
) -> dict[str, Any]:
    """Mask fields of the problem. With no mask asked for and none that suits the input: all that the input carries."""
    mask, window = _mask_and_window(configuration, inputs)
    if mask == "none":
        return {}
    fields: dict[str, Any] = {"kv_lengths": _crop_lengths(inputs.kv_lengths, k_shape[2]), "window": window}
    if mask in ("causal", "causal-bottom-right"):
        fields |= {"causal": True, "alignment": "top-left" if mask == "causal" else "bottom-right"}
    if mask == "segments" or (mask is None and inputs.q_segment_ids is not None):
        fields |= _segment_fields(inputs, q_shape[2], k_shape[2])
    if mask == "array" and inputs.mask is None:
        raise ProblemError("mask array needs an input with a boolean array named mask; this one has none")
    if mask in ("array", None):
        fields["mask"] = _crop_pairs(inputs.mask, q_shape, k_shape)
    return fields


def _mask_and_window(
    configuration: Configuration, inputs: AttentionInputs
) -> tuple[str | None, tuple[int | None, int | None] | None]:
    """Both in force. A window alone asks for mask window; one that comes with the input is for mask window only."""
    mask, window = setting(configuration, inputs, "mask", None), configuration.window
    if window is not None:
        mask = "window" if configuration.mask is None else mask
        if mask not in _WINDOWED:
            raise ProblemError(f"window is not used by mask {mask}: use mask window, causal or causal-bottom-right")
    elif mask == "window":
        window = cast(Any, inputs.defaults.get("window"))
        if window is None:
            raise ProblemError("mask window needs window LEFT,RIGHT in keys, for example 128,0")
    return mask, window


def _segment_fields(inputs: AttentionInputs, q_len: int, kv_len: int) -> dict[str, Any]:
    if inputs.q_segment_ids is None or inputs.kv_segment_ids is None:
        raise ProblemError("mask segments needs an input with q_segment_ids and kv_segment_ids; this one has none")
    return {
        "q_segment_ids": np.ascontiguousarray(inputs.q_segment_ids[:, :q_len]),
        "kv_segment_ids": np.ascontiguousarray(inputs.kv_segment_ids[:, :kv_len]),
        "padding_id": inputs.padding_id,
    }


def _crop_lengths(lengths: np.ndarray | None, kv_len: int) -> np.ndarray | None:
    return None if lengths is None else np.minimum(lengths, kv_len).astype(np.int32)


def _crop_pairs(values: np.ndarray | None, q_shape: tuple[int, ...], k_shape: tuple[int, ...]) -> np.ndarray | None:
    """A 4-D mask or bias cut to the heads and lengths in use; dimensions of size 1 stay."""
    if values is None:
        return None
    sizes = (q_shape[0], q_shape[1], q_shape[2], k_shape[2])
    return np.ascontiguousarray(values[tuple(slice(0, size) for size in sizes)])
