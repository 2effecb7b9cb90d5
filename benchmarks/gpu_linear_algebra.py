"""Linear algebra on a GPU beside `torch.linalg` there, and beside pyc's own way by the host.

    python -m benchmarks.gpu_linear_algebra [--quick] [--rounds N] [--json FILE]

Arrays stay on the device. Each row is a function and a shape; pyc, torch, and pyc with
`device_linalg="host"` take turns, and a time is that of calls in a row until the device is done, by
the call; the least of the rounds counts. Ratios are the other's time over pyc's. The residual is
that of pyc's results, in spacings of the type.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy as np

import pyc
from benchmarks.runner import options, publish
from pyc.device import gpu

Array = np.ndarray[Any, Any]
Call = Callable[[], Any]

SHAPES = [(256, 256), (1000, 32, 32), (10, 256, 256), (1024, 1024), (1000, 8, 8), (4096, 4096)]
QUICK = [(256, 256), (1000, 32, 32)]
SLOW = ("svd", "svdvals", "eig", "lstsq")
"""Functions that take seconds for the largest matrices."""
HOST_ORDER = 256
"""Rows up to which the way by the host is timed too."""
LONGEST = 0.03
"""Seconds of one round, about."""

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda h, a, b: np.linalg.cholesky(h),
    "solve": lambda h, a, b: np.linalg.solve(a, b),
    "inv": lambda h, a, b: np.linalg.inv(a),
    "det": lambda h, a, b: np.linalg.det(a),
    "qr": lambda h, a, b: tuple(np.linalg.qr(a)),
    "svd": lambda h, a, b: tuple(np.linalg.svd(a, full_matrices=False)),
    "svdvals": lambda h, a, b: np.linalg.svdvals(a),
    "eigh": lambda h, a, b: tuple(np.linalg.eigh(h)),
    "eigvalsh": lambda h, a, b: np.linalg.eigvalsh(h),
    "eig": lambda h, a, b: tuple(np.linalg.eig(a)),
    "lstsq": lambda h, a, b: np.linalg.lstsq(a, b, rcond=None)[0],
    "pinv": lambda h, a, b: np.linalg.pinv(a),
}


def theirs(torch: Any) -> dict[str, Callable[..., Any]]:
    """The same of torch."""
    linalg = torch.linalg
    return {
        "cholesky": lambda h, a, b: linalg.cholesky(h),
        "solve": lambda h, a, b: linalg.solve(a, b),
        "inv": lambda h, a, b: linalg.inv(a),
        "det": lambda h, a, b: linalg.det(a),
        "qr": lambda h, a, b: linalg.qr(a),
        "svd": lambda h, a, b: linalg.svd(a, full_matrices=False),
        "svdvals": lambda h, a, b: linalg.svdvals(a),
        "eigh": lambda h, a, b: linalg.eigh(h),
        "eigvalsh": lambda h, a, b: linalg.eigvalsh(h),
        "eig": lambda h, a, b: linalg.eig(a),
        "pinv": lambda h, a, b: linalg.pinv(a),
    }


def matrices(shape: tuple[int, ...], dtype: str) -> tuple[Array, Array, Array]:
    """Positive definite and other matrices, and right sides."""
    rng = np.random.default_rng(0)
    a = rng.standard_normal(shape) + shape[-1] ** 0.5 * np.eye(shape[-1])
    h = a @ np.swapaxes(a, -1, -2) + shape[-1] * np.eye(shape[-1])
    return h.astype(dtype), a.astype(dtype), rng.standard_normal((*shape[:-1], 3)).astype(dtype)


def residual(name: str, found: Any, h: Array, a: Array, b: Array) -> float | None:
    """How far the results are from their equation, by the largest element and the spacing."""
    r = [np.asarray(x) for x in (found if isinstance(found, tuple) else (found,))]
    pairs: dict[str, Callable[[], tuple[Array, Array]]] = {
        "cholesky": lambda: (r[0] @ np.swapaxes(r[0], -1, -2), h),
        "solve": lambda: (a @ r[0], b),
        "inv": lambda: (a @ r[0], np.broadcast_to(np.eye(a.shape[-1]), a.shape)),
        "qr": lambda: (r[0] @ r[1], a),
        "svd": lambda: ((r[0] * r[1][..., None, :]) @ r[2], a),
        "eigh": lambda: ((r[1] * r[0][..., None, :]) @ np.swapaxes(r[1], -1, -2), h),
        "eig": lambda: (a @ r[1], r[1] * r[0][..., None, :]),
    }
    if name not in pairs:
        return None
    x, y = pairs[name]()
    return float(np.abs(x - y).max() / np.abs(y).max() / np.finfo(a.dtype).eps)


def timed(call: Call, wait: Call, count: int) -> float:
    """Seconds of a call, over `count` of them."""
    start = perf_counter()
    for _ in range(count):
        call()
    wait()
    return (perf_counter() - start) / count


def measured(calls: dict[str, Call], wait: Call, rounds: int) -> dict[str, Any]:
    """The least time of each in us."""
    counts: dict[str, int] = {}
    for name, call in list(calls.items()):
        try:
            call()
            wait()
            once = timed(call, wait, 1)
        except Exception as error:
            print(f"{name}: {type(error).__name__}: {str(error)[:300]}", flush=True)
            del calls[name]
            continue
        counts[name] = max(1, min(200, int(LONGEST / max(once, 1e-6))))
    times: dict[str, list[float]] = {name: [] for name in calls}
    for _ in range(rounds):
        for name, call in calls.items():
            times[name].append(timed(call, wait, counts[name]))
    return {name: round(min(t) * 1e6, 1) for name, t in times.items()}


def row(name: str, shape: tuple[int, ...], dtype: str, torch: Any, rounds: int) -> dict[str, Any]:
    """One function for one shape."""
    arrays = matrices(shape, dtype)
    given = [pyc.device_put(x, "cuda") for x in arrays]
    function = pyc.jit(FUNCTIONS[name])
    by_host = pyc.jit(FUNCTIONS[name])
    lowered = function.lower(*given)
    where = sorted({str(d.reason) for d in lowered.decisions} & {"fallback_host", "device_library"})
    calls: dict[str, Call] = {"pyc": lambda: function(*given)}
    reference = theirs(torch).get(name) if torch is not None else None
    if reference is not None:
        tensors = [torch.from_numpy(x).cuda() for x in arrays]
        calls["torch"] = lambda: reference(*tensors)
    if shape[-1] <= HOST_ORDER:
        with pyc.config.using(device_linalg="host"):
            by_host(*given)  # compiled here: the setting is read then
        calls["host"] = lambda: by_host(*given)
    found = measured(calls, gpu().finish, rounds)
    made: dict[str, Any] = {"function": name, "shape": list(shape), "dtype": dtype, "where": where}
    made["us"] = found
    ours = found.get("pyc")
    if ours:
        made["ratios"] = {k: round(v / ours, 2) for k, v in found.items() if k != "pyc"}
        if shape[-1] <= 1024:
            made["residual"] = residual(name, function(*given), *arrays)
    return made


def main() -> None:
    given = options(__doc__)
    rounds = given.rounds or (2 if given.quick else 3)
    try:
        torch = import_module("torch")
    except ImportError as error:
        print(f"without torch: {error}")
        torch = None
    solver = gpu().solver
    about = {
        "device": gpu().name,
        "driver": gpu().driver_version,
        "solver": solver if isinstance(solver, str) else solver.version,
        "torch": None if torch is None else torch.__version__,
    }
    print(about, flush=True)
    records = []
    for shape in QUICK if given.quick else SHAPES:
        for name in FUNCTIONS:
            for dtype in ("float64", "float32"):
                skipped = name == "lstsq" and len(shape) > 2
                skipped |= dtype == "float32" and shape != (1024, 1024)
                skipped |= shape[-1] > 1024 and (name in (*SLOW, "pinv") or given.quick)
                skipped |= name == "eig" and (len(shape) > 2 or dtype == "float32")
                if skipped:
                    continue
                try:
                    records.append(row(name, shape, dtype, torch, rounds))
                except Exception as error:
                    print(f"{name} {shape} {dtype}: {type(error).__name__}: {str(error)[:300]}")
                    continue
                print(records[-1], flush=True)
        publish(given, {**about, "rows": records})


if __name__ == "__main__":
    main()
