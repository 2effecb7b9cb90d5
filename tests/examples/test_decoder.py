"""The decoder with its cache in place: the tokens of plain NumPy, and no copies of the cache."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pytest

import pyc
from examples import decoder
from pyc.backends import cuda
from pyc.ir import plan as plans

Array = np.ndarray[Any, Any]
WEIGHTS = decoder.generated_weights(3)
EXACT = pyc.tree.map(lambda w: w.astype(np.float64), WEIGHTS)
COMPILED = pyc.jit(decoder.generate)


def whole_logits(tokens: Array) -> Array:
    """(tokens, vocabulary): the decoder without a cache, all places at once, in float64."""
    count = len(tokens)
    x = EXACT["words"][tokens] + EXACT["places"][:count]
    for layer in EXACT["layers"]:
        heads = (decoder.normalised(x) @ layer["heads"]).reshape(count, 3, decoder.HEADS, -1)
        q, k, v = heads.transpose(1, 2, 0, 3)
        score = q @ k.swapaxes(-1, -2) / np.sqrt(q.shape[-1])
        score = np.where(np.tri(count, dtype=bool), score, -np.inf)
        weight = np.exp(score - score.max(axis=-1, keepdims=True))
        mixed = weight / weight.sum(axis=-1, keepdims=True) @ v
        x = x + mixed.transpose(1, 0, 2).reshape(count, -1) @ layer["out"]
        x = x + decoder.gelu(decoder.normalised(x) @ layer["up"]) @ layer["down"]
    return decoder.normalised(x) @ EXACT["logits"]


@pytest.mark.parametrize("temperature", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("prompt", "length"), [((5,), 8), ((9, 8, 7, 6), 100), ((1,) * 20, 40)])
def test_tokens_are_those_of_numpy(prompt: Sequence[int], length: int, temperature: float) -> None:
    start = np.array(prompt)
    found = COMPILED(WEIGHTS, start, length, temperature, 4)
    assert found.dtype == np.int64 and found.shape == (length,)
    np.testing.assert_array_equal(found[: len(prompt)], start)
    np.testing.assert_array_equal(found, decoder.generate(EXACT, start, length, temperature, 4))
    # No choice is so close that rounding in float32 could decide it.
    scores = whole_logits(found)[len(prompt) - 1 : -1]
    if temperature:
        noise = [decoder.noise(4, t, scores[0]) for t in range(len(prompt) - 1, length - 1)]
        scores = scores / temperature + np.array(noise)
    np.testing.assert_array_equal(found[len(prompt) :], scores.argmax(axis=1))
    best = np.sort(scores, axis=1)
    assert np.min(best[:, -1] - best[:, -2]) > 1e-4


@pytest.mark.cuda
@pytest.mark.skipif(cuda.problem() is not None, reason="no GPU")
@pytest.mark.parametrize("temperature", [0.0, 0.4, 1.0])
@pytest.mark.parametrize(("prompt", "length"), [((5,), 8), ((9, 8, 7, 6), 100), ((1,) * 20, 40)])
def test_tokens_are_those_of_numpy_on_a_gpu(
    prompt: Sequence[int], length: int, temperature: float
) -> None:
    """With the weights there, whose device the program takes."""
    weights, start = pyc.device_put(WEIGHTS, "cuda"), np.array(prompt)
    found = np.asarray(COMPILED(weights, start, length, temperature, 4))
    np.testing.assert_array_equal(found, decoder.generate(EXACT, start, length, temperature, 4))


def test_the_cache_gives_what_all_places_at_once_give() -> None:
    tokens = np.random.default_rng(0).integers(0, decoder.VOCABULARY, 30)
    shape = decoder.HEADS, 30, decoder.WIDTH // decoder.HEADS
    keys, values = ([np.zeros(shape) for _ in range(decoder.LAYERS)] for _ in "kv")
    logits = [decoder.next_logits(EXACT, keys, values, n, t) for t, n in enumerate(tokens)]
    np.testing.assert_allclose(np.array(logits), whole_logits(tokens), rtol=1e-9, atol=1e-9)


def test_noise_is_gumbel_noise_and_seeds_and_steps_are_apart() -> None:
    """Its mean is Euler's constant, its variance pi^2 / 6; the largest of logits plus noise is
    drawn with the probabilities of their softmax."""
    like = np.zeros(1000)
    drawn = np.array([decoder.noise(7, step, like) for step in range(200)])
    assert abs(drawn.mean() - 0.5772) < 0.01
    assert abs(drawn.var() - np.pi**2 / 6) < 0.02
    assert abs(np.corrcoef(drawn[0], drawn[1])[0, 1]) < 0.1
    assert abs(np.corrcoef(drawn[0], decoder.noise(8, 0, like))[0, 1]) < 0.1
    logits = np.array([0.0, 1.0, 2.0, -1.0])
    steps = range(20000)
    choices = [int(np.argmax(logits + decoder.noise(1, t, logits))) for t in steps]
    share = np.bincount(choices, minlength=4) / len(choices)
    softmax = np.exp(logits) / np.exp(logits).sum()
    np.testing.assert_allclose(share, softmax, atol=0.015)


def steps_of(steps: Sequence[plans.Step], inside: bool) -> Iterator[plans.Step]:
    """The steps of a Plan that run in a loop."""
    for step in steps:
        if inside:
            yield step
        if isinstance(step, plans.Loop):
            yield from steps_of((*step.condition, *step.body), True)
        elif isinstance(step, plans.Branch):
            for case in step.cases:
                yield from steps_of(case, inside)


@pytest.mark.parametrize("length", [32, 100])
def test_generation_is_one_loop_that_does_not_copy_the_cache(length: int) -> None:
    plan = (lowered := COMPILED.lower(WEIGHTS, np.array([1, 2]), length, 0.5, 0)).plan
    assert sum(isinstance(s, plans.Loop) for s in plans.walk_steps(plan.steps)) == 1
    copied = [s.source for s in steps_of(plan.steps, False) if isinstance(s, plans.Copy)]
    # `scores = logits`, where nothing is drawn.
    assert [plan.buffers[n].nbytes for n in copied] == [4 * decoder.VOCABULARY]
    layer = 4 * length * decoder.WIDTH
    for step in steps_of(plan.steps, False):
        if isinstance(step, plans.Launch):
            buffers = zip(plan.kernels[step.kernel].buffers, step.slots, strict=True)
            made = [plan.buffers[slot].nbytes for buffer, slot in buffers if buffer.role == "out"]
            assert all(nbytes < layer for nbytes in made)
    assert lowered.memory_analysis().peak < 2 * decoder.LAYERS * layer + layer + 2**14


def test_temperatures_and_seeds_are_arguments_of_one_program() -> None:
    compiled = pyc.jit(decoder.generate)
    texts = {
        compiled(WEIGHTS, np.array([1, 2]), 24, temperature, seed).tobytes()
        for temperature, seed in ((0.0, 0), (0.8, 1), (0.8, 2), (3.0, 2))
    }
    assert len(texts) == 4
    assert len(compiled.signatures()) == 1
