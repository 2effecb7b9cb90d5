"""Two networks on a GPU beside torch: the sentence encoder and the decoder of `examples/`.

    python -m benchmarks.gpu_networks [--only NAME] [--profile] [--json FILE]

Weights are generated in the encoder's sizes (all-MiniLM-L6-v2; `tests/examples` compares the real
ones with NumPy), all in float32, in which torch multiplies too (no TF32). Vectors are compared with
NumPy in float64 first, tokens with those of NumPy. Calls are timed in turn, round after round: many
back to back with arguments on the device, as one encodes a corpus, and for the decoder a whole
text, waited for. torch.compile compiles nothing more after --compile-seconds. --profile: also the
time of each kernel, by torch's profiler, which sees all of the process.
"""

from __future__ import annotations

import argparse
import importlib
import json
import statistics
import sys
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import machine
from benchmarks.sentences import flops, sample, torch_embed, torch_weights
from examples import decoder
from examples.sentences.model import Dense, Encoder, Layer, Norm, embed
from pyc.device import gpu

VOCABULARY, PLACES, WIDTH, DENSE, LAYERS = 30522, 512, 384, 1536, 6
SHAPES = ((1, 16), (32, 64), (128, 128), (512, 64), (64, 256))
CHECKED, PROFILED = (8, 48), (128, 128)
PROMPT = (9, 8, 7, 6)
ROUNDS = 7
ENOUGH_SECONDS = 0.05


def generated_encoder(seed: int, dtype: Any = np.float32) -> Encoder:
    """Weights of the encoder's shapes."""
    rng = np.random.default_rng(seed)

    def normal(*shape: int, spread: float = 0.05) -> Any:
        return (spread * rng.standard_normal(shape, np.float32)).astype(dtype)

    def dense(inputs: int, outputs: int) -> Dense:
        return Dense(normal(inputs, outputs), normal(outputs))

    def norm() -> Norm:
        return Norm(1 + normal(WIDTH), normal(WIDTH))

    def layer() -> Layer:
        return Layer(
            dense(WIDTH, 3 * WIDTH),
            dense(WIDTH, WIDTH),
            norm(),
            dense(WIDTH, DENSE),
            dense(DENSE, WIDTH),
            norm(),
        )

    return Encoder(
        normal(VOCABULARY, WIDTH),
        normal(PLACES, WIDTH),
        normal(WIDTH),
        norm(),
        tuple(layer() for _ in range(LAYERS)),
    )


def torch_generate(torch: Any, weights: Any, prompt: Any, length: int) -> Any:
    """The likeliest tokens by torch: `decoder.generate` at temperature 0, with its cache."""
    f = torch.nn.functional
    size = decoder.WIDTH // decoder.HEADS
    shape = decoder.HEADS, length, size
    keys, values = ([weights["words"].new_zeros(shape) for _ in weights["layers"]] for _ in "kv")
    tokens = torch.zeros(length, dtype=torch.int64, device=prompt.device)
    tokens[: len(prompt)] = prompt
    places = torch.arange(length, device=prompt.device)

    def normalised(x: Any) -> Any:
        return f.layer_norm(x, x.shape, eps=1e-5)

    for t in range(length - 1):
        x = weights["words"][tokens[t]] + weights["places"][t]
        seen = places <= t
        for n, layer in enumerate(weights["layers"]):
            q, k, v = (normalised(x) @ layer["heads"]).view(3, decoder.HEADS, size)
            keys[n][:, t], values[n][:, t] = k, v
            score = (keys[n] @ q[:, :, None])[:, :, 0] / size**0.5
            weight = torch.softmax(score.masked_fill(~seen, -torch.inf), -1)
            x = x + (weight[:, None, :] @ values[n])[:, 0].reshape(-1) @ layer["out"]
            x = x + f.gelu(normalised(x) @ layer["up"], approximate="tanh") @ layer["down"]
        if t + 1 >= len(prompt):
            tokens[t + 1] = torch.argmax(normalised(x) @ weights["logits"])
    return tokens


def per_call(call: Callable[[], Any], count: int) -> float:
    """Seconds of one of several calls, the device's work included."""
    gpu().finish()
    start = perf_counter()
    for _ in range(count):
        call()
    gpu().finish()
    return (perf_counter() - start) / count


def in_turn(ways: dict[str, Callable[[], Any]]) -> dict[str, float]:
    """Median seconds of a call of each."""
    counts = {}
    for name, call in ways.items():
        for _ in range(3):
            call()
        counts[name] = int(min(max(ENOUGH_SECONDS / per_call(call, 2), 1), 200))
    samples: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(ROUNDS):
        for name, call in ways.items():
            samples[name].append(per_call(call, counts[name]))
    return {name: statistics.median(found) for name, found in samples.items()}


def profile(torch: Any, call: Callable[[], Any], count: int = 3) -> list[dict[str, Any]]:
    """The kernels of one call, by the microseconds that they take together."""
    profiler = torch.profiler
    call()
    gpu().finish()
    with profiler.profile(activities=[profiler.ProfilerActivity.CUDA]) as found:
        for _ in range(count):
            call()
        gpu().finish()
    spent: Counter[str] = Counter()
    times: Counter[str] = Counter()
    for event in found.events():
        if event.device_type == torch.autograd.DeviceType.CUDA:
            spent[event.name] += event.time_range.elapsed_us()
            times[event.name] += 1
    return [
        {"kernel": name[:80], "us": round(us / count, 2), "launches": times[name] / count}
        for name, us in spent.most_common(30)
    ]


class Encoding:
    """The encoder by each library, on one set of weights."""

    def __init__(self, torch: Any) -> None:
        self.torch = torch
        self.weights = generated_encoder(0)
        self.exact = pyc.tree.map(lambda w: w.astype(np.float64), self.weights)
        self.there = pyc.device_put(self.weights, "cuda")
        self.jitted = pyc.jit(embed, device="cuda")
        self.theirs = None
        if torch is not None:
            kept = torch_weights(torch, self.weights)
            self.theirs = pyc.tree.map(lambda w: w.cuda(), kept)
            self.run = partial(torch_embed, torch)

    def ways(self, tokens: Any, mask: Any, compiles: bool) -> dict[str, Callable[[], Any]]:
        """A call of each. compiles: by torch.compile too."""
        here = pyc.device_put((tokens, mask), "cuda")
        found: dict[str, Callable[[], Any]] = {"pyc": partial(self.jitted, self.there, *here)}
        if self.torch is not None:
            given = self.torch.from_numpy(tokens).long().cuda(), self.torch.from_numpy(mask).cuda()
            found["torch"] = partial(self.run, self.theirs, *given)
            if compiles:
                fast = self.torch.compile(self.run, dynamic=False)
                found["torch.compile"] = partial(fast, self.theirs, *given)
        return found

    def check(self) -> dict[str, float]:
        """How far each is from NumPy in float64."""
        tokens, mask = sample(*CHECKED)
        wanted = embed(self.exact, tokens, mask)
        found = {}
        for name, call in self.ways(tokens, mask, False).items():
            vectors = call()
            array = np.asarray(vectors if name == "pyc" else vectors.cpu())
            found[name] = float(np.abs(array - wanted).max())
            assert found[name] < 1e-5, f"{name} is off by {found[name]}"
        return found

    def row(self, rows: int, length: int, compiles: bool, profiled: bool) -> dict[str, Any]:
        """Times of a batch."""
        tokens, mask = sample(rows, length)
        ways = self.ways(tokens, mask, compiles)
        results = {n: np.asarray(w() if n == "pyc" else w().cpu()) for n, w in ways.items()}
        for name, vectors in results.items():
            off = float(np.abs(vectors - results["pyc"]).max())
            assert off < 1e-5, f"{name} is off by {off}"
        seconds = in_turn(ways)
        row: dict[str, Any] = {"network": "encoder", "batch": [rows, length], "seconds": seconds}
        row["sentences a second"] = {name: rows / t for name, t in seconds.items()}
        row["TFLOP/s"] = flops(self.weights, rows, length) / seconds["pyc"] / 1e12
        lowered = self.jitted.lower(self.there, *pyc.device_put((tokens, mask), "cuda"))
        row["launches"] = len(lowered.plan.steps)
        if profiled:
            row["kernels"] = {name: profile(self.torch, way) for name, way in ways.items()}
        return row


def decoding(torch: Any, profiled: bool) -> dict[str, Any]:
    """Times of a text by the decoder, at temperature 0."""
    weights = decoder.generated_weights(3)
    exact = pyc.tree.map(lambda w: w.astype(np.float64), weights)
    there, prompt, length = pyc.device_put(weights, "cuda"), np.array(PROMPT), decoder.LONGEST
    wanted = decoder.generate(exact, prompt, length, 0.0, 4)
    jitted = pyc.jit(decoder.generate, static_argnames=("temperature", "seed"))
    ways: dict[str, Callable[[], Any]] = {
        "pyc": lambda: pyc.block_until_ready(jitted(there, prompt, length, 0.0, 4))
    }
    np.testing.assert_array_equal(np.asarray(ways["pyc"]()), wanted)
    if torch is not None:
        theirs = pyc.tree.map(lambda w: torch.from_numpy(w).cuda(), weights)
        given = torch.from_numpy(prompt).cuda()
        ways["torch"] = lambda: torch_generate(torch, theirs, given, length)
        np.testing.assert_array_equal(ways["torch"]().cpu().numpy(), wanted)
    seconds = in_turn(ways)
    row: dict[str, Any] = {"network": "decoder", "tokens": length, "seconds": seconds}
    row["tokens a second"] = {name: (length - 1) / t for name, t in seconds.items()}
    if profiled:
        row["kernels"] = {name: profile(torch, way, 1) for name, way in ways.items()}
    return row


def main() -> int:
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=("encoder", "decoder"))
    parser.add_argument("--profile", action="store_true", help="also the time of each kernel")
    parser.add_argument("--compile-seconds", type=float, default=float("inf"))
    parser.add_argument("--json", type=Path, help="write the results there")
    given = parser.parse_args()
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        torch = None
    report: dict[str, Any] = {"device": gpu().name, "machine": machine(), "rows": []}
    if torch is not None:
        torch.backends.cuda.matmul.allow_tf32 = False
        torch.backends.cudnn.allow_tf32 = False
        report["torch"] = torch.__version__
    start = perf_counter()

    def publish(row: dict[str, Any]) -> None:
        report["rows"].append(row)
        best = row["seconds"]["pyc"]
        what = row.get("batch") or row["tokens"]
        beside = "  ".join(f"{n} {1e3 * t:.3f} ms" for n, t in row["seconds"].items())
        ratios = "  ".join(f"{n}/pyc {t / best:.2f}" for n, t in row["seconds"].items())
        print(f"{row['network']} {what}: {beside}  {ratios}", flush=True)
        for name, kernels in row.get("kernels", {}).items():
            print(f"  {name}: {kernels}", flush=True)
        if given.json:
            given.json.parent.mkdir(parents=True, exist_ok=True)
            given.json.write_text(json.dumps(report, indent=1) + "\n")

    quiet = torch.inference_mode() if torch is not None else np.errstate()
    with quiet:
        if given.only != "decoder":
            encoding = Encoding(torch)
            report["from NumPy in float64"] = encoding.check()
            print(report["from NumPy in float64"], flush=True)
            for rows, length in SHAPES:
                compiles = perf_counter() - start < given.compile_seconds
                profiled = given.profile and (rows, length) == PROFILED
                publish(encoding.row(rows, length, compiles, profiled))
        if given.only != "encoder":
            publish(decoding(torch, given.profile))
    return 0


if __name__ == "__main__":
    sys.exit(main())
