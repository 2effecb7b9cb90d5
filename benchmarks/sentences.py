"""The sentence encoder of `examples/sentences` beside torch with the same weights and threads.

    python -m benchmarks.sentences [--quick] [--json FILE]

torch runs its own fused operations (linear, scaled_dot_product_attention, layer_norm, gelu) in
inference mode, and compiled by torch.compile for one shape with one thread. Results are compared
with NumPy in float64 first. Rows are timed in turn, by the clock and by the processor time of the
process: with one thread the latter is compared, which other work on the machine changes little;
with two the clock. `floor` is the time of the multiplications and additions of the products alone,
at the best rate of a product of 1,024 squared, pyc's or torch's, in the same run.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable
from functools import partial
from time import perf_counter, process_time
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import Time, options, publish, summary
from examples.sentences import __main__ as command
from examples.sentences.batches import batches
from examples.sentences.embedder import Embedder
from examples.sentences.install import folder
from examples.sentences.model import EPSILON, HEADS, Encoder, embed, load

SHAPES = ((1, 16), (16, 16), (32, 64), (4, 256))
QUICK = ((1, 16), (32, 64))
COMPILED = (32, 64)
SIDE = 1024
COPIES = 2


def clock_of(threads: int) -> str:
    """What is compared."""
    return "processor" if threads == 1 else "clock"


def flops(encoder: Encoder, rows: int, length: int) -> int:
    """Of the products of one call."""
    tokens = rows * length
    total = 0
    for layer in encoder.layers:
        for map in (layer.heads, layer.out, layer.up, layer.down):
            total += 2 * tokens * int(map.weight.size)
        total += 4 * tokens * length * int(layer.out.bias.size)
    return total


def torch_weights(torch: Any, encoder: Encoder) -> Any:
    """The weights as torch keeps them: (outputs, inputs)."""

    def tensor(x: Any) -> Any:
        return torch.from_numpy(np.ascontiguousarray(x.T))

    return pyc.tree.map(tensor, encoder)


def torch_embed(torch: Any, weights: Any, tokens: Any, mask: Any) -> Any:
    """`embed` of the example in torch."""
    f = torch.nn.functional
    rows, length = tokens.shape
    width = weights.kind.shape[0]

    def norm(x: Any, given: Any) -> Any:
        return f.layer_norm(x, (width,), given.scale, given.shift, EPSILON)

    def dense(x: Any, map: Any) -> Any:
        return f.linear(x, map.weight, map.bias)

    # Embedding tables were transposed with the rest.
    x = weights.words.T[tokens] + weights.places.T[:length] + weights.kind
    x = norm(x, weights.after_embedding)
    seen = mask[:, None, None, :]
    for layer in weights.layers:
        heads = dense(x, layer.heads).view(rows, length, 3, HEADS, width // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        mixed = f.scaled_dot_product_attention(q, k, v, attn_mask=seen)
        mixed = mixed.transpose(1, 2).reshape(rows, length, width)
        x = norm(x + dense(mixed, layer.out), layer.after_attention)
        x = norm(x + dense(f.gelu(dense(x, layer.up)), layer.down), layer.after_dense)
    here = mask[:, :, None].to(x.dtype)
    return f.normalize((x * here).sum(1) / here.sum(1), dim=-1)


def sample(rows: int, length: int) -> tuple[Any, Any]:
    """Sentences of half to all of `length` tokens."""
    rng = np.random.default_rng(rows + length)
    lengths = rng.integers(length // 2, length + 1, rows)
    lengths[0] = length
    tokens = rng.integers(1000, 30000, (rows, length)).astype(np.int32)
    return tokens, np.arange(length) < lengths[:, None]


def checked(run: Callable[[], Any], exact: Any, who: str) -> Callable[[], Any]:
    """`run`, after its result was compared."""
    difference = float(np.abs(np.asarray(run()) - exact).max())
    assert difference < 1e-5, f"{who} is off by {difference}"
    return run


def timed(rows: dict[str, Callable[[], Any]], rounds: int) -> dict[str, dict[str, Time]]:
    """Seconds of a call of each row, by the clock and of the processor."""
    clock: dict[str, list[float]] = {name: [] for name in rows}
    processor: dict[str, list[float]] = {name: [] for name in rows}
    for _ in range(rounds + 1):  # the first warms up
        for name, run in rows.items():
            start, used = perf_counter(), process_time()
            run()
            processor[name].append(process_time() - used)
            clock[name].append(perf_counter() - start)
    return {
        name: {"clock": summary(clock[name][1:]), "processor": summary(processor[name][1:])}
        for name in rows
    }


def rates(torch: Any, which: str, rounds: int) -> dict[str, float]:
    """flops a second of a square product: pyc's, torch's."""
    a = np.random.default_rng(0).standard_normal((SIDE, SIDE)).astype(np.float32)
    rows: dict[str, Callable[[], Any]] = {"pyc": partial(pyc.jit(lambda a, b: a @ b), a, a)}
    if torch is not None:
        rows["torch"] = partial(torch.mm, torch.from_numpy(a), torch.from_numpy(a))
    times = timed(rows, rounds)
    return {name: 2 * SIDE**3 / found[which]["median"] for name, found in times.items()}


def main() -> int:
    given = options(__doc__)
    rounds = given.rounds or (3 if given.quick else 9)
    torch = importlib.import_module("torch") if importlib.util.find_spec("torch") else None
    embedder, exact = Embedder(folder()), load(folder(), np.float64)
    encoder = embedder.encoder
    weights = None if torch is None else torch_weights(torch, encoder)
    records: dict[str, Any] = {"torch": None if torch is None else torch.__version__, "rows": []}
    texts = command.lines(command.SENTENCES) * COPIES
    batched = list(batches(embedder.tokens(texts)))

    def peers(tokens: Any, mask: Any) -> dict[str, Callable[[], Any]]:
        rows: dict[str, Callable[[], Any]] = {"pyc": partial(embedder.embed, encoder, tokens, mask)}
        if torch is not None:
            arrays = torch.from_numpy(tokens).long(), torch.from_numpy(mask)
            run = partial(torch_embed, torch, weights)
            rows["torch"] = partial(run, *arrays)
            if tokens.shape == COMPILED and torch.get_num_threads() == 1 and not given.quick:
                rows["torch.compile"] = partial(torch.compile(run, dynamic=False), *arrays)
        wanted = embed(exact, tokens, mask)
        return {name: checked(run, wanted, name) for name, run in rows.items()}

    def whole() -> dict[str, Callable[[], Any]]:
        each = [peers(batch.tokens, batch.mask) for batch in batched]
        names = [name for name in ("pyc", "torch") if all(name in rows for rows in each)]
        return {name: partial(_all, [rows[name] for rows in each]) for name in names}

    def row(name: str, work: int, threads: int, best: float, runs: Any) -> None:
        times = timed(runs, rounds)
        which = clock_of(threads)
        floor = work / best
        medians = {peer: found[which]["median"] for peer, found in times.items()}
        ratios = {peer: t / medians["pyc"] for peer, t in medians.items() if peer != "pyc"}
        records["rows"].append(
            {"what": name, "threads": threads, "compared": which, "flops": work, "floor": floor}
            | {"seconds": times, "peers over pyc": ratios}
        )
        shown = "  ".join(f"{peer} {1e3 * t:8.2f} ms" for peer, t in medians.items())
        beside = "  ".join(f"{peer}/pyc {ratio:.2f}" for peer, ratio in ratios.items())
        share = floor / medians["pyc"]
        print(f"{threads} thread(s)  {name:14}  {shown}  {beside}  floor/pyc {share:.2f}")

    with torch.inference_mode() if torch is not None else np.errstate():
        for threads in (1, 2):
            pyc.set_num_threads(threads)
            if torch is not None:
                torch.set_num_threads(threads)
            found = rates(torch, clock_of(threads), rounds)
            records.setdefault("product rates", {})[threads] = found
            best = max(found.values())
            print(", ".join(f"{n} {rate / 1e9:.0f} GFLOP/s" for n, rate in found.items()))
            for rows, length in QUICK if given.quick else SHAPES:
                runs = peers(*sample(rows, length))
                row(f"{rows} x {length} tokens", flops(encoder, rows, length), threads, best, runs)
            work = sum(flops(encoder, *batch.tokens.shape) for batch in batched)
            row(f"{len(texts)} sentences", work, threads, best, whole())
            publish(given, records)
    return 0


def _all(runs: list[Callable[[], Any]]) -> None:
    for run in runs:
        run()


if __name__ == "__main__":
    raise SystemExit(main())
