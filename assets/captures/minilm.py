"""The forward pass of the BERT encoder all-MiniLM-L6-v2 in NumPy, keeping q, k and v of every head."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file

LAYERS, HEADS, HEAD_DIM = 6, 12, 32
EPSILON = 1e-12
_erf = np.vectorize(math.erf, otypes=[np.float64])


@dataclass(frozen=True)
class Pass:
    """One sentence through the model. q, k, v: float32 (layers, heads, length, head_dim); hidden: (length, width)."""

    q: np.ndarray
    k: np.ndarray
    v: np.ndarray
    hidden: np.ndarray


class MiniLM:
    """Weights of the encoder, from its safetensors file."""

    def __init__(self, weights: Path) -> None:
        self.weights = load_file(weights)

    def __call__(self, ids: list[int]) -> Pass:
        """Run token ids (special tokens included, no padding) through all layers, without a mask."""
        x = self._embed(ids)
        kept: list[list[np.ndarray]] = [[], [], []]
        for layer in range(LAYERS):
            name = f"encoder.layer.{layer}"
            qkv = [_split_heads(self._dense(x, f"{name}.attention.self.{part}")) for part in ("query", "key", "value")]
            for whole, part in zip(kept, qkv, strict=True):
                whole.append(part)
            mixed = _merge_heads(attend(*qkv))
            x = self._norm(x + self._dense(mixed, f"{name}.attention.output.dense"), f"{name}.attention.output")
            wide = _gelu(self._dense(x, f"{name}.intermediate.dense"))
            x = self._norm(x + self._dense(wide, f"{name}.output.dense"), f"{name}.output")
        return Pass(q=np.stack(kept[0]), k=np.stack(kept[1]), v=np.stack(kept[2]), hidden=x)

    def embedding(self, ids: list[int]) -> np.ndarray:
        """Sentence embedding: the mean of the last hidden states, of length 1."""
        mean = self(ids).hidden.mean(axis=0)
        return mean / np.linalg.norm(mean)

    def _embed(self, ids: list[int]) -> np.ndarray:
        table = self.weights
        words = table["embeddings.word_embeddings.weight"][ids]
        places = table["embeddings.position_embeddings.weight"][: len(ids)]
        return self._norm(words + places + table["embeddings.token_type_embeddings.weight"][0], "embeddings")

    def _dense(self, x: np.ndarray, name: str) -> np.ndarray:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x: np.ndarray, name: str) -> np.ndarray:
        centred = x - x.mean(axis=-1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=-1, keepdims=True) + EPSILON)
        return scaled * self.weights[f"{name}.LayerNorm.weight"] + self.weights[f"{name}.LayerNorm.bias"]


def probabilities(q: np.ndarray, k: np.ndarray) -> np.ndarray:
    """softmax(q k^T / sqrt(head_dim)) over the last axis, without a mask."""
    scores = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1]).astype(np.float32)
    grown = np.exp(scores - scores.max(axis=-1, keepdims=True))
    return grown / grown.sum(axis=-1, keepdims=True)


def attend(q: np.ndarray, k: np.ndarray, v: np.ndarray) -> np.ndarray:
    """Attention of all heads: (heads, length, head_dim)."""
    return probabilities(q, k) @ v


def _split_heads(x: np.ndarray) -> np.ndarray:
    return np.ascontiguousarray(x.reshape(len(x), HEADS, HEAD_DIM).transpose(1, 0, 2))


def _merge_heads(x: np.ndarray) -> np.ndarray:
    return x.transpose(1, 0, 2).reshape(x.shape[1], HEADS * HEAD_DIM)


def _gelu(x: np.ndarray) -> np.ndarray:
    """The exact form, x Phi(x), as BERT was trained with."""
    return (x * 0.5 * (1 + _erf(x / math.sqrt(2)))).astype(np.float32)
