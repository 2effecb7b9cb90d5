"""Attention, softmax(q k^T / sqrt(d)) v, over eight heads, with and without a causal mask.

Run it: `python examples/attention.py`.
"""

from __future__ import annotations

import functools

import numpy as np

import pyc
from pyc import numpy as pnp

HEADS, TOKENS, WIDTH = 8, 256, 32


@functools.partial(pyc.jit, static_argnames="causal")
def attention(q, k, v, causal=False):
    """q, k, v: (heads, tokens, width) -> (heads, tokens, width). causal: no look ahead."""
    score = q @ k.transpose(0, 2, 1) / np.sqrt(np.float32(q.shape[-1]))
    if causal:
        place = pnp.arange(q.shape[1])
        score = np.where(place[:, None] >= place[None, :], score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True) @ v


def attention_numpy(q, k, v, causal):
    """The same in float64."""
    q, k, v = (x.astype(np.float64) for x in (q, k, v))
    score = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
    if causal:
        score = np.where(np.tri(q.shape[1], dtype=bool), score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    return weight / weight.sum(axis=-1, keepdims=True) @ v


def main() -> None:
    rng = np.random.default_rng(0)
    q, k, v = rng.standard_normal((3, HEADS, TOKENS, WIDTH)).astype(np.float32)
    print(f"{'causal':>7} {'kernels':>8} {'peak bytes':>11} {'to float64':>11}")
    for causal in (False, True):
        found = attention(q, k, v, causal=causal)
        assert found.dtype == np.float32
        difference = np.abs(found - attention_numpy(q, k, v, causal)).max()
        assert difference < 2e-6
        lowered = attention.lower(q, k, v, causal=causal)
        kernels, peak = lowered.cost_analysis().kernels, lowered.memory_analysis().peak
        print(f"{causal!s:>7} {kernels:8d} {peak:11,} {difference:11.1e}")
    # The first token can look at itself only.
    np.testing.assert_allclose(found[:, 0], v[:, 0], rtol=1e-6)


if __name__ == "__main__":
    main()
