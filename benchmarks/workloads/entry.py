"""What a workload is: plain NumPy code, arguments by size, and how each peer's expert writes it.

A workload is a class under `@workload`, whose body is a table, never an object:

    @workload(tiny=(16,), medium=(1 << 18,), large=(1 << 24,))
    class axpy:
        def arguments(n): ...           the arguments, the same at each call
        def program(a, x, y): ...       plain NumPy: what pyc jits and NumPy runs
        jax = torch = SAME              the same text with `np` as that library
        def numba(a, x, y): ...         loops; `prange` is Numba's where Numba compiles them
        numexpr = "a * x + y"

Nothing here imports a peer: the process of a peer binds the names of `PEER_NAMES` that it has.
Arguments stay as they are, and results are new: no peer writes into an array that is there.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

SIZES = ("tiny", "medium", "large")
SAME = "same"
"""The peer's version is the program, with the peer's module as `np`."""

PEER_NAMES = {
    "jax": {"jax": "jax", "jnp": "jax.numpy", "lax": "jax.lax"},
    "torch": {"torch": "torch", "functional": "torch.nn.functional"},
    "numba": {},
}
"""Names of the workloads' modules that are a library's: bound in the process of that library."""

NUMPY_OF = {"jax": "jnp", "torch": "torch"}
"""Which of these names stands for `np` in a program that is the same there."""

jax: Any = None
jnp: Any = None
lax: Any = None
torch: Any = None
functional: Any = None
prange: Any = range

f32 = np.float32
"""Constants of Numba's loops: a Python number there would make them float64."""


@dataclass(frozen=True)
class Workload:
    """One entry. bytes: of the arguments and results unless the entry says what it must move;
    flops: of contractions; tolerance: of values, relative to the largest; misses: the
    share of elements that may be beyond it."""

    name: str
    family: str
    about: str
    sizes: dict[str, tuple[int, ...]]
    arguments: Callable[..., tuple[Any, ...]]
    program: Callable[..., Any]
    versions: dict[str, Any]
    flops: Callable[..., float] | None = None
    bytes: Callable[..., float] | None = None
    double: bool = False
    tolerance: float = 1e-4
    misses: float = 0.0
    module: str = field(default="", compare=False)


CATALOGUE: dict[str, Workload] = {}
"""Every entry of the imported families, in their order."""

PEERS = ("numpy", "jax", "numba", "torch", "numexpr")
FACTS = ("flops", "bytes", "double", "tolerance", "misses")


def workload(**sizes: tuple[int, ...]) -> Callable[[type], type]:
    """Enters the class; sizes: what `arguments` gets, by name of the size."""

    def enter(table: type) -> type:
        body = dict(vars(table))
        name, module = table.__name__, table.__module__
        if name in CATALOGUE and CATALOGUE[name].module != module:
            raise ValueError(f"two workloads are called {name}")
        versions = {peer: body.pop(peer) for peer in PEERS if peer in body}
        facts = {k: body.pop(k) for k in FACTS if k in body}
        family = module.rpartition(".")[2].replace("_", " ")
        arguments, program = body.pop("arguments"), body.pop("program")
        about = " ".join((body.pop("__doc__") or "").split())
        unknown = [k for k in body if not k.startswith("__")]
        if unknown or set(sizes) - set(SIZES):
            raise ValueError(f"{name}: no such parts of a workload: {unknown or list(sizes)}")
        CATALOGUE[name] = Workload(
            *(name, family, about, sizes, arguments, program, versions), **facts, module=module
        )
        return table

    return enter


def bind(names: dict[str, Any]) -> None:
    """Gives the modules of all workloads these names: a peer's modules, `prange`."""
    for module in {w.module for w in CATALOGUE.values()}:
        vars(sys.modules[module]).update(names)


def generator(seed: int) -> np.random.Generator:
    return np.random.default_rng(seed)


def normal(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    """Normal numbers, the same ones at each call."""
    if np.dtype(dtype) == np.float32:
        return generator(seed).standard_normal(shape, np.float32)
    return generator(seed).standard_normal(shape).astype(dtype)


def uniform(*shape: int, seed: int = 0, dtype: Any = np.float32) -> Array:
    """Numbers from [0, 1), the same ones at each call."""
    return generator(seed).random(shape, dtype)


def indices(limit: int, *shape: int, seed: int = 0, dtype: Any = np.int64) -> Array:
    """Integers below the limit, the same ones at each call."""
    return generator(seed).integers(0, limit, shape, dtype)
