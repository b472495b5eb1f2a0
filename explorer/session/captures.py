"""The shipped captures: q, k and v of heads of a trained transformer on real sentences, with their tokens."""

from __future__ import annotations

import functools
import json
from pathlib import Path

import numpy as np

from explorer.session.attention_inputs import AttentionInputs, InputError
from explorer.session.config import Configuration
from explorer.session.files import load as load_file
from explorer.session.places import assets_directory

_SPECIAL = ("[CLS]", "[SEP]")
_SENTENCE_ENDS = (".", "!", "?")
_NOTE = (
    "The captured model is bidirectional: a causal mask is the viewer's choice. Mask segments keeps to a sentence, "
    "mask array hides [CLS] and [SEP]."
)


def titles() -> dict[str, str]:
    """Name to title of each shipped capture, in menu order; empty where the assets are missing."""
    return {name: str(about["title"]) for name, about in _index().items()}


def load(name: str, configuration: Configuration) -> AttentionInputs:
    """Capture ``name``, whole. Raises InputError where its file is missing or damaged."""
    del configuration  # lengths and heads are cropped when the problem is built
    about = _index()[name]
    inputs = load_file(str(_folder() / f"{name}.npz"))
    segments = _sentences(inputs.q_tokens)
    return AttentionInputs(
        name=name,
        title=str(about["title"]),
        q=inputs.q,
        k=inputs.k,
        v=inputs.v,
        q_tokens=inputs.q_tokens,
        kv_tokens=inputs.kv_tokens,
        mask=_hide_special(inputs.q_tokens),
        q_segment_ids=segments,
        kv_segment_ids=segments,
        source=str(about["source"]),
        licence=str(about["licence"]),
        defaults=dict(about["defaults"]),
        notes=(_NOTE,),
        head_labels=tuple(about["heads"]),
    )


@functools.cache
def _index() -> dict[str, dict]:
    try:
        return json.loads((_folder() / "index.json").read_text(encoding="utf-8"))
    except OSError:
        return {}
    except ValueError as error:
        raise InputError(f"{_folder() / 'index.json'} is damaged: install Tilescope again") from error


def _folder() -> Path:
    return assets_directory() / "captures"


def _sentences(tokens: tuple[str, ...]) -> np.ndarray:
    """int32 (1, length): which sentence each token belongs to; the token that ends a sentence is part of it."""
    ends = np.array([token in _SENTENCE_ENDS for token in tokens])
    numbers = np.cumsum(ends) - ends
    # the final [SEP] stays with the last sentence
    return np.minimum(numbers, max(int(ends.sum()) - 1, 0)).astype(np.int32)[None]


def _hide_special(tokens: tuple[str, ...]) -> np.ndarray:
    """bool (1, 1, length, length): every token sees all but the special ones."""
    keep = np.array([token not in _SPECIAL for token in tokens])
    return np.broadcast_to(keep, (1, 1, len(tokens), len(tokens))).copy()
