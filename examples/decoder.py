"""A small GPT-style decoder: greedy and sampled generation as one program, with a cache in place.

Run it: `python examples/decoder.py`.

`generate` is plain NumPy (Radford et al. 2019): the loop over tokens is one loop of the program,
and `keys[n][:, t] = ...` writes into the cache where it lies. Tokens are drawn by the Gumbel
trick, argmax(logits / temperature + noise), with noise that is a hash of (seed, step, token), so a
seed gives the same text wherever it runs. The weights are generated, so the text means nothing.
"""

from __future__ import annotations

from time import perf_counter

import numpy as np

import pyc

VOCABULARY, WIDTH, HEADS, LAYERS, LONGEST = 128, 64, 4, 2, 128


def generated_weights(seed, dtype=np.float32):
    """A tree of weights; sizes as above."""
    rng = np.random.default_rng(seed)

    def matrix(rows, columns):
        return (rng.standard_normal((rows, columns)) / np.sqrt(rows)).astype(dtype)

    layers = [
        {
            "heads": matrix(WIDTH, 3 * WIDTH),
            "out": matrix(WIDTH, WIDTH),
            "up": matrix(WIDTH, 4 * WIDTH),
            "down": matrix(4 * WIDTH, WIDTH),
        }
        for _ in range(LAYERS)
    ]
    return {
        "words": 3 * matrix(VOCABULARY, WIDTH),
        "places": 3 * matrix(LONGEST, WIDTH),
        "layers": layers,
        "logits": 4 * matrix(WIDTH, VOCABULARY),
    }


def normalised(x):
    """To mean 0 and variance 1 over the last axis."""
    away = x - x.mean(axis=-1, keepdims=True)
    return away / np.sqrt((away * away).mean(axis=-1, keepdims=True) + 1e-5)


def gelu(x):
    """The tanh form (Hendrycks and Gimpel 2016)."""
    return 0.5 * x * (1 + np.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))


def attention(q, keys, values, t):
    """q: (heads, size); keys, values: (heads, longest, size), known up to place t."""
    score = (keys @ q[:, :, None])[:, :, 0] / np.sqrt(q.shape[-1]).astype(q.dtype)
    score = np.where(np.arange(keys.shape[1]) <= t, score, -np.inf)
    weight = np.exp(score - score.max(axis=-1, keepdims=True))
    weight = weight / weight.sum(axis=-1, keepdims=True)
    return (weight[:, None, :] @ values)[:, 0]


def next_logits(weights, keys, values, token, t):
    """Logits of what follows `token`, which stands at place t; its keys and values are stored."""
    x = weights["words"][token] + weights["places"][t]
    for n, layer in enumerate(weights["layers"]):
        q, k, v = (normalised(x) @ layer["heads"]).reshape(3, HEADS, WIDTH // HEADS)
        keys[n][:, t] = k
        values[n][:, t] = v
        x = x + attention(q, keys[n], values[n], t).reshape(WIDTH) @ layer["out"]
        x = x + gelu(normalised(x) @ layer["up"]) @ layer["down"]
    return normalised(x) @ weights["logits"]


def noise(seed, step, like):
    """Gumbel noise, -log(-log(u)), of the shape and type of `like`: the uniform numbers u are
    hashed from seed, step and place by the finaliser of MurmurHash3."""
    h = np.arange(like.size, dtype=np.uint32) + np.uint32(0x9E3779B9) * np.asarray(step, np.uint32)
    for k in (seed, 0x2545F491):
        h = h ^ np.asarray(k, np.uint32)
        h = (h ^ (h >> 16)) * np.uint32(0x85EBCA6B)
        h = (h ^ (h >> 13)) * np.uint32(0xC2B2AE35)
        h = h ^ (h >> 16)
    return -np.log(-np.log(((h >> 8) + 0.5) / 2**24)).astype(like.dtype)


def generate(weights, prompt, length, temperature, seed):
    """The prompt's tokens and what follows them, `length` in all; (length,) integers.

    temperature: 0 for the likeliest token at each step, else that of the draw
    """
    dtype = weights["words"].dtype
    shape = HEADS, length, WIDTH // HEADS
    keys = [np.zeros(shape, dtype) for _ in weights["layers"]]
    values = [np.zeros(shape, dtype) for _ in weights["layers"]]
    tokens = np.zeros(length, np.int64)
    tokens[: len(prompt)] = prompt
    for t in range(length - 1):
        logits = next_logits(weights, keys, values, tokens[t], t)
        if t + 1 >= len(prompt):
            scores = logits
            if temperature > 0:
                scores = logits / temperature + noise(seed, t, logits)
            tokens[t + 1] = np.argmax(scores)
    return tokens


def main() -> None:
    weights = generated_weights(0)
    exact = pyc.tree.map(lambda w: w.astype(np.float64), weights)
    prompt = np.array([7, 77, 17, 71])
    compiled = pyc.jit(generate)
    print(f"{'temperature':>11} {'seed':>5} {'first ms':>9} {'ms':>7} {'NumPy ms':>9}  tokens")
    for temperature, seed in ((0.0, 0), (0.7, 1), (0.7, 2), (1.5, 2)):
        start = perf_counter()
        found = compiled(weights, prompt, LONGEST, temperature, seed)
        first = perf_counter()
        again = compiled(weights, prompt, LONGEST, temperature, seed)
        second = perf_counter()
        expected = generate(exact, prompt, LONGEST, temperature, seed)
        third = perf_counter()
        np.testing.assert_array_equal(found, expected)
        np.testing.assert_array_equal(found, again)
        times = 1e3 * (first - start), 1e3 * (second - first), 1e3 * (third - second)
        text = " ".join(map(str, found[:12]))
        print(
            f"{temperature:11g} {seed:5d} {times[0]:9.1f} {times[1]:7.2f} {times[2]:9.1f}  {text}"
        )
    # Temperatures and seeds are one program, and it copies no cache in a step: the copies that
    # there are, of zeros before the loop, are as many for any number of steps.
    assert len(compiled.signatures()) == 1
    copies = {
        compiled.compile(weights, prompt, length, 0.7, 1).memory_analysis().copies
        for length in (LONGEST // 2, LONGEST)
    }
    assert len(copies) == 1


if __name__ == "__main__":
    main()
