"""`Embedder`: from texts to vectors, by the tokenizer, the batches and the jitted model."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from tokenizers import Tokenizer

import pyc
from examples.sentences.batches import LENGTHS, batches
from examples.sentences.model import Encoder, embed, load

Array = np.ndarray[Any, Any]


class Embedder:
    """The model of a folder. device: where it runs, "cpu" or "cuda"."""

    def __init__(self, model: Path, device: str = "cpu") -> None:
        self.tokenizer = Tokenizer.from_file(str(model / "tokenizer.json"))
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(LENGTHS[-1])
        self.encoder: Encoder = load(model)
        if device != "cpu":  # NumPy arrays would be copied there by each call
            self.encoder = pyc.tree.map(lambda w: pyc.device_put(w, device), self.encoder)
        self.embed = pyc.jit(embed, device=device)

    def tokens(self, texts: Sequence[str]) -> list[list[int]]:
        """The numbers of each text's tokens, those that begin and end a sentence included."""
        return [found.ids for found in self.tokenizer.encode_batch(list(texts))]

    def vectors(self, texts: Sequence[str]) -> Array:
        """(texts, width) float32; the product of two rows is the cosine of their angle."""
        found = np.zeros((len(texts), self.encoder.kind.shape[0]), np.float32)
        for batch in batches(self.tokens(texts)):
            rows = np.asarray(self.embed(self.encoder, batch.tokens, batch.mask))
            found[list(batch.numbers)] = rows[: len(batch.numbers)]
        return found

    def ranked(self, query: str, texts: Sequence[str]) -> list[tuple[float, str]]:
        """(similarity, text) of all texts, the most similar first."""
        first, *others = self.vectors([query, *texts])
        scores = np.array(others).reshape(len(texts), -1) @ first
        return [(float(scores[n]), texts[n]) for n in np.argsort(-scores, kind="stable")]
