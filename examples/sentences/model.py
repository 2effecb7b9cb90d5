"""The encoder (all-MiniLM-L6-v2: Wang et al. 2020, Reimers and Gurevych 2019), in NumPy.

The same functions run as NumPy and under `pyc.jit`, in the type of the weights: float64 weights
make the reference that the example is compared with.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file
from scipy.special import erf

import pyc

Array = np.ndarray[Any, Any]
HEADS = 12
EPSILON = 1e-12


@pyc.tree.register_dataclass
@dataclass(frozen=True)
class Dense:
    """A linear map: (inputs, outputs) and (outputs,)."""

    weight: Array
    bias: Array


@pyc.tree.register_dataclass
@dataclass(frozen=True)
class Norm:
    """What follows a layer normalisation: (width,) each."""

    scale: Array
    shift: Array


@pyc.tree.register_dataclass
@dataclass(frozen=True)
class Layer:
    """An encoder layer. heads: queries, keys and values in one map, (width, 3 * width)."""

    heads: Dense
    out: Dense
    after_attention: Norm
    up: Dense
    down: Dense
    after_dense: Norm


@pyc.tree.register_dataclass
@dataclass(frozen=True)
class Encoder:
    """All weights. words: (vocabulary, width); places: (longest, width); kind: (width,)."""

    words: Array
    places: Array
    kind: Array
    after_embedding: Norm
    layers: tuple[Layer, ...]


def normalised(x: Array, norm: Norm) -> Array:
    """Layer normalisation over the last axis (Ba et al. 2016)."""
    away = x - x.mean(axis=-1, keepdims=True)
    spread = (away * away).mean(axis=-1, keepdims=True)
    return away / np.sqrt(spread + EPSILON) * norm.scale + norm.shift


def softmax(x: Array) -> Array:
    """Over the last axis."""
    e = np.exp(x - x.max(axis=-1, keepdims=True))
    return e / e.sum(axis=-1, keepdims=True)


def gelu(x: Array) -> Array:
    """x times the normal distribution function (Hendrycks and Gimpel 2016)."""
    return 0.5 * x * (1 + erf(x * 0.5**0.5))


def dense(x: Array, map: Dense) -> Array:
    return x @ map.weight + map.bias


def attention(x: Array, hidden: Array, layer: Layer) -> Array:
    """Each token looks at all of its sentence (Vaswani et al. 2017).

    x: (sentences, tokens, width); hidden: (sentences, tokens), 0 or minus infinity
    """
    sentences, tokens, width = x.shape
    heads = dense(x, layer.heads).reshape(sentences, tokens, 3, HEADS, width // HEADS)
    q, k, v = heads.transpose(2, 0, 3, 1, 4)
    score = q @ k.swapaxes(-1, -2) * (width // HEADS) ** -0.5 + hidden[:, None, None, :]
    mixed = (softmax(score) @ v).transpose(0, 2, 1, 3).reshape(sentences, tokens, width)
    return dense(mixed, layer.out)


def embed(encoder: Encoder, tokens: Array, mask: Array) -> Array:
    """One vector of length 1 for each sentence.

    tokens, mask: (sentences, tokens) integers and bools, at least one token a sentence
    -> (sentences, width)
    """
    x = encoder.words[tokens] + encoder.places[: tokens.shape[1]] + encoder.kind
    x = normalised(x, encoder.after_embedding)
    hidden = np.where(mask, 0.0, -np.inf).astype(x.dtype)
    for layer in encoder.layers:
        x = normalised(x + attention(x, hidden, layer), layer.after_attention)
        x = normalised(x + dense(gelu(dense(x, layer.up)), layer.down), layer.after_dense)
    here = mask[:, :, None].astype(x.dtype)
    mean = (x * here).sum(axis=1) / here.sum(axis=1)
    return mean / np.sqrt((mean * mean).sum(axis=-1, keepdims=True))


def load(model: Path, dtype: Any = np.float32) -> Encoder:
    """The weights in a model's folder, as `dtype`."""
    file = load_file(model / "model.safetensors")

    def weight(name: str) -> Array:
        return np.ascontiguousarray(file[name].T, dtype)

    def linear(*names: str) -> Dense:
        return Dense(
            np.concatenate([weight(f"{name}.weight") for name in names], axis=1),
            np.concatenate([weight(f"{name}.bias") for name in names]),
        )

    def norm(name: str) -> Norm:
        return Norm(weight(f"{name}.LayerNorm.weight"), weight(f"{name}.LayerNorm.bias"))

    def layer(at: str) -> Layer:
        return Layer(
            linear(*(f"{at}.attention.self.{part}" for part in ("query", "key", "value"))),
            linear(f"{at}.attention.output.dense"),
            norm(f"{at}.attention.output"),
            linear(f"{at}.intermediate.dense"),
            linear(f"{at}.output.dense"),
            norm(f"{at}.output"),
        )

    count = len({name.split(".")[2] for name in file if name.startswith("encoder.layer.")})
    return Encoder(
        file["embeddings.word_embeddings.weight"].astype(dtype),
        file["embeddings.position_embeddings.weight"].astype(dtype),
        file["embeddings.token_type_embeddings.weight"][0].astype(dtype),
        norm("embeddings"),
        tuple(layer(f"encoder.layer.{n}") for n in range(count)),
    )
