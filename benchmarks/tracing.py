"""Tracing: microseconds per operation for 10,000 chained operations, and how it grows.

    python benchmarks/tracing.py

The goal is under 10 us per operation and linear growth. The first two rows go through the operators
of tracers and through `np.*` functions, the last one through `bind` alone.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

from pyc.interpreter import bind1
from pyc.ir import dtype as dt
from pyc.ir.types import ArrayType
from pyc.trace.capture import capture
from pyc.trace.trace import Input


def operators(n: int) -> Callable[[Any], list[Any]]:
    def function(x):
        for _ in range(n // 2):
            x = x + x
            x = x * 1.5
        return [x]

    return function


def functions(n: int) -> Callable[[Any], list[Any]]:
    def function(x):
        for _ in range(n // 2):
            x = np.add(x, x)
            x = np.sqrt(x)
        return [x]

    return function


def binds(n: int) -> Callable[[Any], list[Any]]:
    def function(x):
        for _ in range(n // 2):
            x = bind1("add", x, x)
            x = bind1("mul", x, x)
        return [x]

    return function


def microseconds(make: Callable[[int], Callable[[Any], list[Any]]], n: int) -> float:
    best = float("inf")
    for _ in range(5):
        start = time.perf_counter()
        capture(make(n), [Input(ArrayType((16,), dt.f64))])
        best = min(best, time.perf_counter() - start)
    return best / n * 1e6


def main() -> None:
    print(f"{'way':12} {'1,000':>8} {'10,000':>8}   us per operation")
    for make in (operators, functions, binds):
        small, large = (microseconds(make, n) for n in (1_000, 10_000))
        print(f"{make.__name__:12} {small:8.2f} {large:8.2f}")


if __name__ == "__main__":
    main()
