"""Sorting and scatter on a GPU: pyc beside torch, and beside the steps of the host.

    python -m benchmarks.gpu_sort [--quick] [--json FILE]

Microseconds of a call, many in a row without waiting, arrays on the device; the best of some
rounds, in turn. Results are compared first: sorted elements and sums are the CPU's, to the bit.
torch's sort is the stable one; its sums of updates have no order (`index_add_`), but for the column
"in order" (`index_put_` with `use_deterministic_algorithms`). "host" is pyc as if the device had no
launches for it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from time import perf_counter
from typing import Any
from unittest import mock

import numpy as np

import pyc
import pyc.numpy as pnp
from benchmarks.runner import options, peers, publish
from pyc import config

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]

ROUNDS = 5
SECONDS = 0.03
LONG = 1 << 24
HOST = 1 << 20
"""The most elements that the host's steps are timed with."""


def numbers(shape: tuple[int, ...], dtype: str) -> Array:
    """Random elements; of floats some are zeros of both signs and NaN."""
    rng = np.random.default_rng(0)
    if dtype.startswith("int"):
        return rng.integers(-(10**6), 10**6, shape).astype(dtype)
    x = rng.standard_normal(shape).astype(dtype)
    x.reshape(-1)[::97], x.reshape(-1)[1::97], x.reshape(-1)[2::1001] = 0, -0.0, np.nan
    return x


def on_device(function: Callable[..., Any], arrays: list[Array]) -> tuple[Call, Call]:
    """A call of a jitted function that does not wait, and one that waits for what came before."""
    jitted = pyc.jit(function, device="cuda")
    given = [pyc.device_put(a, "cuda") for a in arrays]
    last: list[Any] = []

    def call() -> Any:
        last[:] = pyc.tree.leaves(jitted(*given))
        return last

    def wait() -> None:
        for x in last:
            x.block_until_ready()

    return call, wait


def microseconds(rows: dict[str, tuple[Call, Call]]) -> dict[str, float]:
    """The least time of a call of each row."""
    best = dict.fromkeys(rows, float("inf"))
    counts = {}
    for name, (call, wait) in rows.items():
        call()
        wait()
        start = perf_counter()
        call()
        wait()
        counts[name] = max(1, min(200, int(SECONDS / (perf_counter() - start))))
    for _ in range(ROUNDS):
        for name, (call, wait) in rows.items():
            start = perf_counter()
            for _ in range(counts[name]):
                call()
            wait()
            best[name] = min(best[name], (perf_counter() - start) / counts[name])
    return {name: 1e6 * seconds for name, seconds in best.items()}


def same(function: Callable[..., Any], arrays: list[Array], call: Call) -> bool:
    """Whether the device has the CPU's bits."""
    expected = pyc.tree.leaves(pyc.jit(function)(*arrays))
    pairs = zip(expected, call(), strict=True)
    return all(np.asarray(a).tobytes() == np.asarray(b).tobytes() for a, b in pairs)


def measured(
    name: str,
    function: Callable[..., Any],
    arrays: list[Array],
    others: dict[str, Call],
    wait: Call,
    *,
    host: bool,
) -> dict[str, Any]:
    """A record, printed."""
    rows = {"pyc": on_device(function, arrays)}
    good = same(function, arrays, rows["pyc"][0])
    rows |= {other: (call, wait) for other, call in others.items()}
    if host:
        with mock.patch("pyc.kernels.registry.SEQUENCES", {}):
            # Another function, or the program that is there already would be called.
            rows["host"] = on_device(lambda *xs: function(*xs), arrays)
            rows["host"][0]()
    found = {k: round(v, 1) for k, v in microseconds(rows).items()}
    print(f"{name:36} {'same bits' if good else 'OTHER BITS':10} {found}", flush=True)
    return {"program": name, "same bits": good, "microseconds": found}


def sorts(torch: Any, quick: bool) -> Iterator[dict[str, Any]]:
    """Lines, rows, places and the best."""

    def wait() -> None:
        if torch:
            torch.cuda.synchronize()

    lengths = (64, 256, 1024, 4096, 1 << 14, 1 << 16, 1 << 18, 1 << 20, LONG)
    shapes: list[tuple[int, ...]] = [(n,) for n in lengths[:: 3 if quick else 1]]
    shapes += [(10_000, 1000), (1000, 200), (100, 20_000), (100_000, 50)]
    for shape in shapes:
        for dtype in ("float32", "int32", "int64"):
            if dtype != "float32" and shape[0] not in (4096, 1 << 20, LONG):
                continue
            x = numbers(shape, dtype)
            there = torch.from_numpy(x).cuda() if torch else None
            host = x.size <= HOST and dtype == "float32"
            others: dict[str, Call] = {}
            if torch:
                others["torch"] = lambda x=there: torch.sort(x, stable=True)
            name = f"sort of {dtype} {shape}"
            yield measured(name, lambda x: pnp.sort(x), [x], others, wait, host=host)
    for n in (1 << 16, LONG):
        x = numbers((n,), "float32")
        there = torch.from_numpy(x).cuda() if torch else None
        others = {"torch": lambda x=there: torch.argsort(x, stable=True)} if torch else {}
        name = f"argsort of float32 ({n},)"
        yield measured(name, lambda x: pnp.argsort(x), [x], others, wait, host=False)
    x = numbers((1 << 20,), "float32")
    there = torch.from_numpy(x).cuda() if torch else None
    for k in (5, 1000, 100_000):
        others = {"torch": lambda x=there, k=k: torch.topk(x, k)} if torch else {}
        name = f"the best {k} of {x.size}"
        yield measured(name, lambda x, k=k: pnp.topk(x, k), [x], others, wait, host=False)


def scatters(torch: Any, quick: bool) -> Iterator[dict[str, Any]]:
    """Sums of updates at many places, at few, at one."""

    def wait() -> None:
        if torch:
            torch.cuda.synchronize()

    cases = [(1 << 10, 100), (1 << 14, 1 << 12), (1 << 20, 1 << 18), (1 << 20, 1000), (1 << 20, 1)]
    cases += [(LONG, 1 << 22), (LONG, 10)]
    for n, places in cases[:: 3 if quick else 1]:
        rng = np.random.default_rng(1)
        i = rng.integers(0, places, n)
        for dtype in ("float32", "int32"):
            u = (50 * rng.standard_normal(n)).astype(dtype)
            x = np.zeros(places, dtype)
            others: dict[str, Call] = {}
            if torch:
                there = [torch.from_numpy(a).cuda() for a in (x, i, u)]

                def add(there: list[Any] = there) -> Any:
                    return there[0].index_add_(0, there[1], there[2])

                def put(there: list[Any] = there) -> Any:
                    torch.use_deterministic_algorithms(True)
                    found = there[0].index_put_((there[1],), there[2], accumulate=True)
                    torch.use_deterministic_algorithms(False)
                    return found

                others = {"torch": add, "torch in order": put}
            name = f"{n} {dtype} updates of {places}"
            host = dtype == "float32" and (n <= HOST or places == 10)
            yield measured(name, lambda x, i, u: x.at[i].add(u), [x, i, u], others, wait, host=host)


def main() -> None:
    """Measures and publishes."""
    given = options(__doc__)
    there = peers("torch")["torch"]
    torch = importlib.import_module("torch") if there else None
    with config.using(cache="off"):
        records = [*scatters(torch, given.quick), *sorts(torch, given.quick)]
    publish(given, records)


if __name__ == "__main__":
    main()
