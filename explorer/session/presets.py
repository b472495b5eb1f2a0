"""Generated inputs with a known character: normal, needle, peaked. A seed gives the same numbers on every machine."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from explorer.session import estimate
from explorer.session.attention_inputs import AttentionInputs
from explorer.session.config import Configuration

_TITLES = {
    "normal": "Normal: independent standard normal numbers",
    "needle": "Needle: one key that every query looks for",
    "peaked": "Peaked: q = k at scale 1, each query sees itself only",
}
_HEAD_DIMS = {"normal": 64, "needle": 64, "peaked": 512}
_LENGTH = 256
_HEADS = 2
_NEEDLE_PLACE = 0.7
_NEEDLE_STRENGTH = 2.0
_SEGMENTS = 3
_MASKED_OUT = 0.2
_RANDOM_MASK_BYTES = 4 + 1 + 1 + 1
"""While the mask is made: random float32, and booleans of the mask and its diagonal."""

_Shapes = tuple[tuple[int, int, int, int], tuple[int, int, int, int]]


def titles() -> dict[str, str]:
    """Name to title of each preset."""
    return dict(_TITLES)


def load(name: str, configuration: Configuration) -> AttentionInputs:
    """Preset ``name`` at the lengths, heads and head dim that the configuration asks for (batch 1).

    Segment ids (three packed documents) and a random mask (one pair in five hidden, its diagonal kept) come along,
    for the masks that ask for them. Raises ProblemError for sizes of 0 and for what memory does not hold.
    """
    q_shape, k_shape = _shapes(name, configuration)
    blocks = {"block_q": _block(q_shape[2]), "block_kv": _block(k_shape[2])}
    with_mask = configuration.mask == "array"
    estimate.check_sizes(
        estimate.Sizes(
            q_shape=q_shape,
            k_shape=k_shape,
            block_q=configuration.block_q or blocks["block_q"],
            block_kv=configuration.block_kv or blocks["block_kv"],
            kernel=configuration.kernel,
            pair_bytes=_RANDOM_MASK_BYTES if with_mask else 0,
        )
    )
    rng = np.random.default_rng(configuration.seed)
    q, k, v = _MAKERS[name](rng, q_shape, k_shape)
    q_ids, kv_ids = _segments(q_shape[2]), _segments(k_shape[2])
    mask = _random_mask(rng, q_shape[2], k_shape[2]) if with_mask else None
    defaults: dict[str, object] = {"mask": "none", **blocks}
    if name == "peaked":
        defaults["scale"] = 1.0
    return AttentionInputs(
        name=name, title=_TITLES[name], q=q, k=k, v=v, mask=mask, q_segment_ids=q_ids, kv_segment_ids=kv_ids,
        source=f"generated, seed {configuration.seed}", defaults=defaults,
    )  # fmt: skip


def _shapes(name: str, configuration: Configuration) -> _Shapes:
    asked = configuration
    estimate.check_positive(asked)
    heads = asked.heads or max(_HEADS, asked.kv_heads or 1)
    kv_heads = asked.kv_heads or heads
    head_dim = asked.head_dim or _HEAD_DIMS[name]
    return (1, heads, asked.q_len or _LENGTH, head_dim), (1, kv_heads, asked.kv_len or _LENGTH, head_dim)


def _block(length: int) -> int:
    return 64 if length <= 512 else 128


def _normal(rng: np.random.Generator, q_shape: tuple[int, ...], k_shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    return tuple(rng.standard_normal(shape, dtype=np.float32) for shape in (q_shape, k_shape, k_shape))


def _needle(rng: np.random.Generator, q_shape: tuple[int, ...], k_shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """All queries lean towards one direction, and one key, at 0.7 of the length, lies along it.

    Its score is about 2 sqrt(d) at the default scale, 16 for d = 64, where the others' lie within a few units of 0: the
    running max jumps once, in the tile that holds it.
    """
    q, k, v = _normal(rng, q_shape, k_shape)
    direction = rng.choice(np.array([-1.0, 1.0], np.float32), q_shape[-1])
    q += direction
    k[:, :, int(_NEEDLE_PLACE * (k_shape[2] - 1))] = _NEEDLE_STRENGTH * direction
    return q, k, v


def _peaked(rng: np.random.Generator, q_shape: tuple[int, ...], k_shape: tuple[int, ...]) -> tuple[np.ndarray, ...]:
    """q repeats k row by row (and head group by head group), so that at scale 1 a query's own key wins by far."""
    _, k, v = _normal(rng, q_shape, k_shape)
    heads = np.arange(q_shape[1]) * k_shape[1] // q_shape[1]
    rows = np.arange(q_shape[2]) % k_shape[2]
    return np.ascontiguousarray(k[:, heads][:, :, rows]), k, v


def _segments(length: int) -> np.ndarray:
    return (np.arange(length, dtype=np.int32) * _SEGMENTS // length)[None]


def _random_mask(rng: np.random.Generator, q_len: int, kv_len: int) -> np.ndarray:
    mask = rng.random((q_len, kv_len), dtype=np.float32) >= _MASKED_OUT
    return (mask | np.eye(q_len, kv_len, dtype=bool))[None, None]


_MAKERS: dict[str, Callable[..., tuple[np.ndarray, ...]]] = {"normal": _normal, "needle": _needle, "peaked": _peaked}
