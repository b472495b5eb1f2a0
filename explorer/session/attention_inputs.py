"""The arrays of one attention input, whatever they came from."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


class InputError(ValueError):
    """An input that cannot be used; the message says what is wrong with it and what would do."""


@dataclass(frozen=True, eq=False)
class AttentionInputs:
    """One input, as arrays in (batch, heads, length, head_dim) order, float32.

    ``tokens`` label the axes where there are any. ``mask``, ``bias`` (4-D, broadcastable), ``q_segment_ids``,
    ``kv_segment_ids`` ((batch, length)) and ``kv_lengths`` ((batch,)) are used when the mask asks for them.
    ``defaults`` are settings that suit this input (block sizes, mask, head), for fields the user left open.
    """

    name: str
    title: str
    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    q_tokens: tuple[str, ...] = ()
    kv_tokens: tuple[str, ...] = ()
    mask: np.ndarray | None = None
    bias: np.ndarray | None = None
    q_segment_ids: np.ndarray | None = None
    kv_segment_ids: np.ndarray | None = None
    kv_lengths: np.ndarray | None = None
    source: str = ""
    licence: str = ""
    defaults: dict[str, object] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a user would otherwise be misled about, one sentence each."""
    padding_id: int | None = None
    """The segment id that stands for padding, where there is one."""
    head_labels: tuple[str, ...] = ()
    """Names of the heads where they have any: 'layer 3, head 7'."""
