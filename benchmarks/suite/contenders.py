"""Who takes part, and in the process of each: how its library runs a workload.

A contender is a library with its settings. `LIBRARIES` has what differs between libraries: its
arguments, its compiled variants, and how a call is awaited. Of several variants the quickest is
taken, as its expert would. Nothing here imports a library before its process asks for it.
"""

from __future__ import annotations

import importlib
import inspect
import os
import types
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.workloads.entry import NUMPY_OF, PEER_NAMES, SAME, Workload, bind

FAST_XLA = "--xla_cpu_enable_fast_math=true"
KEPT = "BENCHMARK_COMPILED"
"""In the environment of a process: the folder in which peers keep what they compile."""


@dataclass(frozen=True)
class Contender:
    """library: a key of `LIBRARIES`; fast: asks for fast math; compiled: of torch, its compiler."""

    name: str
    library: str
    fast: bool = False
    compiled: bool = False
    environment: dict[str, str] = field(default_factory=dict)


CONTENDERS = {
    c.name: c
    for c in (
        Contender("pyc", "pyc"),
        Contender("pyc-fast", "pyc", fast=True),
        Contender("numpy", "numpy"),
        Contender("jax", "jax"),
        Contender("jax-fast", "jax", fast=True, environment={"XLA_FLAGS": FAST_XLA}),
        Contender("numba", "numba"),
        Contender("numba-fast", "numba", fast=True),
        Contender("torch", "torch"),
        Contender("torch-compile", "torch", compiled=True),
        Contender("torch-compile-fast", "torch", fast=True, compiled=True),
        Contender("numexpr", "numexpr"),
    )
}

TABLES = {
    "strict": ("pyc", ("numpy", "jax", "numba", "torch", "torch-compile", "numexpr")),
    "fast": (
        "pyc-fast",
        ("numpy", "jax-fast", "numba-fast", "torch", "torch-compile-fast", "numexpr"),
    ),
}
"""Ours and its peers by table: peers at their defaults, and peers with fast math."""

DISTRIBUTIONS = {
    "pyc": ("numpy", "llvmlite"),
    "numpy": ("numpy",),
    "jax": ("jax", "jaxlib"),
    "numba": ("numba", "llvmlite"),
    "torch": ("torch",),
    "numexpr": ("numexpr",),
}


class Missing(Exception):
    """The contender cannot take part: its library is not installed, or cannot do what it asks."""


class Absent(Exception):
    """The workload has no version for this library."""


@dataclass(frozen=True)
class Call:
    """A statement for `timeit` over names, and what turns its result into NumPy arrays."""

    statement: str
    names: dict[str, Any]
    to_numpy: Callable[[Any], Any] = lambda x: x


def call(function: Any, arguments: Iterable[Any], wait: str = "{}", **more: Any) -> Call:
    """A call of the function on the arguments; wait: the statement around it."""
    names = {f"a{k}": a for k, a in enumerate(arguments)}
    text = f"f({', '.join(names)})"
    to_numpy = more.pop("to_numpy", lambda x: x)
    return Call(wait.format(text), {"f": function, **names, **more}, to_numpy)


def each(convert: Callable[[Any], Any], result: Any) -> Any:
    """The results converted: one, or each of several."""
    if isinstance(result, (tuple, list)):
        return tuple(convert(r) for r in result)
    return convert(result)


class Library:
    """A library in its process. load: before anything else, raises `Missing`."""

    def __init__(self, contender: Contender, threads: int) -> None:
        self.contender, self.threads = contender, threads

    def load(self) -> None:
        """Imports it and binds its names in the workloads' modules."""

    def variants(
        self, workload: Workload, arguments: tuple[Any, ...], size: str
    ) -> dict[str, Call]:
        """The ways to run it, by name, of which the quickest will be taken."""
        raise NotImplementedError

    def check(self, call: Call) -> str | None:
        """What else is wrong with a call whose result was right."""
        return None

    def version(self, workload: Workload) -> Any:
        """The workload as this library's expert writes it."""
        library = self.contender.library
        found = workload.versions.get(library)
        if found is None:
            raise Absent(f"no version for {library}")
        return like(workload.program, NUMPY_OF[library]) if found is SAME else found


def like(program: Any, name: str) -> Any:
    """The program with the module that is bound to `name` as its `np`."""
    names = program.__globals__
    return types.FunctionType(
        program.__code__, {**names, "np": names[name]}, program.__name__, program.__defaults__
    )


def module(name: str) -> Any:
    """The module, or `Missing`."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Missing(f"cannot import {name}: {error}") from error


class Numpy(Library):
    def variants(
        self, workload: Workload, arguments: tuple[Any, ...], size: str
    ) -> dict[str, Call]:
        function = workload.versions.get("numpy", workload.program)
        return {"": call(function, arguments)}


class Pyc(Library):
    def load(self) -> None:
        self.pyc = module("pyc")
        self.options = {"fastmath": self.contender.fast}
        self.pyc.set_num_threads(self.threads)

    def variants(
        self, workload: Workload, arguments: tuple[Any, ...], size: str
    ) -> dict[str, Call]:
        if (
            workload.family == "ceilings"
            and "out" in inspect.signature(workload.program).parameters
        ):
            raise Absent("pyc does not write into an argument")
        return {"": call(self.pyc.jit(workload.program, **self.options), arguments)}

    def check(self, call: Call) -> str | None:
        """The bits must not depend on the number of threads."""
        found = []
        for threads in (1, self.threads):
            self.pyc.set_num_threads(threads)
            result = eval(call.statement, call.names)
            found.append(each(lambda r: np.asarray(r).tobytes(), result))
        return None if found[0] == found[1] else f"other bits with 1 and {self.threads} threads"


class Jax(Library):
    def load(self) -> None:
        self.jax = module("jax")
        device = self.jax.default_backend()
        if device != "cpu":
            raise Missing(f"JAX runs on {device}: the suite is of the CPU")
        self.jax.config.update("jax_enable_x64", True)
        bind({k: module(v) for k, v in PEER_NAMES["jax"].items()})

    def variants(
        self, workload: Workload, arguments: tuple[Any, ...], size: str
    ) -> dict[str, Call]:
        """Arrays are on the device before; integers, which are counts and shapes, are static."""
        static = tuple(k for k, a in enumerate(arguments) if isinstance(a, int))
        jitted = self.jax.jit(self.version(workload), static_argnums=static)
        moved = [self.jax.device_put(a) if isinstance(a, np.ndarray) else a for a in arguments]
        several = isinstance(jitted(*moved), (tuple, list))
        wait = "ready({})" if several else "{}.block_until_ready()"
        ready = self.jax.block_until_ready
        return {"": call(jitted, moved, wait, ready=ready, to_numpy=lambda r: each(np.asarray, r))}


class Numba(Library):
    def load(self) -> None:
        self.numba = module("numba")
        bind({"prange": self.numba.prange})
        self.kept = os.environ.get(KEPT)
        self.made: dict[tuple[str, bool], Any] = {}

    def variants(
        self, workload: Workload, arguments: tuple[Any, ...], size: str
    ) -> dict[str, Call]:
        """Loops in parallel and one after the other; tiny sizes are never worth a thread."""
        function = self.version(workload)
        kinds = {"serial": False} if size == "tiny" else {"serial": False, "parallel": True}
        calls = {}
        for name, parallel in kinds.items():
            key = workload.name, parallel
            if key not in self.made:
                options = {"parallel": parallel, "fastmath": self.contender.fast}
                if self.kept:
                    # Numba's files are named after the function alone: a folder for these options.
                    folder = f"{self.contender.name}-{name}"
                    self.numba.config.CACHE_DIR = str(Path(self.kept, folder))
                    options["cache"] = True
                self.made[key] = self.numba.njit(function, **options)
            calls[name] = call(self.made[key], arguments)
        return calls


class Torch(Library):
    def load(self) -> None:
        self.torch = module("torch")
        bind({k: module(v) for k, v in PEER_NAMES["torch"].items()})
        self.torch.set_num_threads(self.threads)
        self.torch.inference_mode().__enter__()
        if not self.contender.compiled:
            return
        settings = module("torch._inductor.config")
        settings.compile_threads = 1
        if self.contender.fast:
            settings.cpp.enable_unsafe_math_opt_flag = True

    def variants(
        self, workload: Workload, arguments: tuple[Any, ...], size: str
    ) -> dict[str, Call]:
        function = self.version(workload)
        if self.contender.compiled:
            self.torch.compiler.reset()
            function = self.torch.compile(function, dynamic=False)
        tensor = self.torch.from_numpy
        moved = [tensor(a) if isinstance(a, np.ndarray) else a for a in arguments]
        return {"": call(function, moved, to_numpy=lambda r: each(lambda t: t.numpy(), r))}


class Numexpr(Library):
    def load(self) -> None:
        self.numexpr = module("numexpr")
        self.numexpr.set_num_threads(self.threads)

    def variants(
        self, workload: Workload, arguments: tuple[Any, ...], size: str
    ) -> dict[str, Call]:
        """The expression is parsed before: calls evaluate it again with the same arguments.
        Constants are float32 where the arrays are."""
        text = self.version(workload)
        names = dict(zip(inspect.signature(workload.program).parameters, arguments))
        single = all(a.dtype == np.float32 for a in arguments if isinstance(a, np.ndarray))
        if single:
            names = {k: np.float32(v) if isinstance(v, float) else v for k, v in names.items()}
        self.numexpr.validate(text, local_dict=names, global_dict={}, truediv=True)
        again = self.numexpr.re_evaluate
        return {"": Call("again(local_dict=names)", {"again": again, "names": names})}


LIBRARIES: dict[str, type[Library]] = {
    "pyc": Pyc,
    "numpy": Numpy,
    "jax": Jax,
    "numba": Numba,
    "torch": Torch,
    "numexpr": Numexpr,
}


def versions(library: str) -> dict[str, str]:
    """The installed versions of what the library consists of."""
    found = {}
    for name in DISTRIBUTIONS[library]:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def environment(contender: Contender, threads: int, kept: Path | None) -> dict[str, str]:
    """What the process of a contender has in its environment: as many threads as the others, and
    where it keeps what it compiles."""
    count = str(threads)
    names = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS")
    settings = dict.fromkeys((*names, "NUMEXPR_MAX_THREADS", "NUMEXPR_NUM_THREADS"), count)
    if kept:
        settings[KEPT] = str(kept)
        settings["TORCHINDUCTOR_CACHE_DIR"] = str(kept / f"{contender.name}-{count}")
    # Otherwise JAX takes a GPU where it finds one.
    settings |= {"TF_CPP_MIN_LOG_LEVEL": "3", "JAX_PLATFORMS": "cpu"}
    return settings | contender.environment
