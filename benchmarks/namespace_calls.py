"""First calls of every function of the namespaces, at small size.

    python -m benchmarks.namespace_calls [--quick] [--only PART] [--seconds N] [--json FILE]

Each function of `pyc.numpy`, its `linalg` and `fft`, `pyc.scipy.special` and `pyc.random` is called
once on arrays of 3 to 64 elements, in three ways: on NumPy arrays (as a function of the namespace),
on `pyc.Array`s of the CPU, and jitted. Each call is in a process of its own, forked from one that
has done nothing but what is said here:

  first ever  after `import pyc`, with an empty disk cache: the runtime's own code is compiled too
  new         after jitted and eager calls of other functions, the last of them in the fork itself;
              the disk cache is empty
  again       after `import pyc`, with the disk cache that the first one has left

A fork copies the memory, and maps the code, that its parent has in use before the clock starts:
800 faults of pages less, which a process that was not forked does not have either. Times are the
wall clock's, and, for a machine that is shared, the processor's of all threads. Byte code is
cached, as in an installed package. Functions that cannot be called in a way are named in
`NO_ARRAYS`, `IN_PLACE` and `NOT_JITTED`.

Functions come in an order drawn with `SEED`, in parts of `PART` functions that are measured in
every way and state before the next: after `--seconds` no further part begins, and what was measured
is a sample of them all. The file of `--json` is written after each part.
"""

from __future__ import annotations

import argparse
import ctypes
import gc
import importlib
import json
import mmap
import os
import random
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from operator import attrgetter
from time import perf_counter, process_time
from typing import Any

import numpy as np

from benchmarks.runner import ROOT, parser, publish

SPACES = ("pyc.numpy", "pyc.numpy.linalg", "pyc.numpy.fft", "pyc.scipy.special", "pyc.random")
WAYS = ("NumPy arrays", "pyc.Array", "jitted")
STATES = ("first ever", "new", "again")
BOUND_MS = 20.0
"""Of the median of new functions."""
POPULATE_READ, POPULATE_WRITE = 22, 23
"""Of `madvise`: makes pages as a read or a write does."""
PART = 15
"""Functions that are measured in every way before the next."""
SEED = 15
"""Of the order of functions."""

_rng = np.random.default_rng(7)
SAMPLES: dict[str, Any] = {
    "x": _rng.uniform(0.1, 0.9, (4, 4)),
    "y": _rng.uniform(0.1, 0.9, (4, 4)),
    "v": _rng.uniform(0.1, 0.9, 8),
    "w": np.sort(_rng.uniform(0.1, 0.9, 8)),
    "n": _rng.integers(1, 9, (4, 4)),
    "m": _rng.integers(1, 9, (4, 4)),
    "i": np.array([2, 0, 1]),
    "b": _rng.uniform(size=(4, 4)) > 0.5,
    "z": _rng.standard_normal((4, 4)) + 1j * _rng.standard_normal((4, 4)),
    "p": np.eye(4) * 4 + _rng.uniform(0, 0.5) * np.ones((4, 4)),
    "t": _rng.standard_normal((2, 3, 4)),
    "u": _rng.integers(0, 256, 8).astype(np.uint8),
    "k": np.array([0, 7], np.uint32),
}
"""Arrays, by the names of the parameters of calls."""

Call = Callable[..., Any]


def _each(names: str, call: Call) -> dict[str, Call]:
    return dict.fromkeys(names.split(), call)


# `f` is the function.
NUMPY: dict[str, Call] = {
    **_each(
        "abs absolute acos all amax amin angle any arccos arcsin arcsinh arctan arctanh argmax "
        "argmin argsort argwhere around array asarray ascontiguousarray asin asinh atan atanh "
        "atleast_1d atleast_2d atleast_3d average cbrt ceil copy corrcoef cos cosh count_nonzero "
        "cov cummax cummin cumprod cumsum deg2rad degrees diag diag_indices_from diagflat "
        "diagonal diff ediff1d empty_like erf erfc exp exp2 expm1 fabs fix flatnonzero flip fliplr "
        "flipud floor frexp from_dlpack gradient histogram histogram_bin_edges histogramdd i0 "
        "iscomplex isfinite isinf isnan isneginf isposinf isreal lexsort log log10 log1p log2 "
        "logical_not matrix_transpose max mean median min modf nan_to_num nanargmax nanargmin "
        "nancumprod nancumsum nanmax nanmean nanmedian nanmin nanprod nanstd nansum nanvar "
        "negative nonzero ones_like positive prod ptp rad2deg radians ravel real_if_close "
        "reciprocal rint rot90 round sign signbit sin sinc sinh sort spacing sqrt square squeeze "
        "std sum tan tanh trace transpose trapezoid tril tril_indices_from triu triu_indices_from "
        "trunc unique unique_all unique_counts unique_inverse unique_values unstack unwrap var "
        "where zeros_like",
        lambda f, x: f(x),
    ),
    **_each("acosh arccosh", lambda f, n: f(n)),
    **_each("conj conjugate imag real", lambda f, z: f(z)),
    **_each("bitwise_count bitwise_invert bitwise_not invert packbits", lambda f, n: f(n)),
    **_each("unpackbits", lambda f, u: f(u)),
    **_each("bincount", lambda f, u: f(u, minlength=256)),
    **_each(
        "cumulative_prod cumulative_sum poly polyder polyint trim_zeros vander", lambda f, v: f(v)
    ),
    **_each(
        "add allclose append arctan2 array_equal array_equiv atan2 copysign divide divmod dot "
        "equal float_power floor_divide fmax fmin fmod greater greater_equal heaviside hypot inner "
        "intersect1d isclose isin kron less less_equal logaddexp logaddexp2 logical_and logical_or "
        "logical_xor matmul maximum minimum mod multiply nextafter not_equal outer pow power "
        "remainder setdiff1d setxor1d subtract tensordot true_divide union1d vdot vecdot "
        "broadcast_arrays",
        lambda f, x, y: f(x, y),
    ),
    **_each(
        "bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor gcd lcm "
        "left_shift right_shift",
        lambda f, n, m: f(n, m),
    ),
    **_each("convolve correlate histogram2d meshgrid polyadd polymul", lambda f, v, w: f(v, w)),
    **_each("polysub polyval searchsorted", lambda f, w, v: f(w, v)),
    **_each("block column_stack concat concatenate dstack hstack", lambda f, x, y: f([x, y])),
    **_each("stack vstack", lambda f, x, y: f([x, y])),
    **_each("array_split dsplit hsplit split vsplit", lambda f, p: f(p.reshape(2, 2, 4), 2)),
    **_each("nanpercentile percentile", lambda f, x: f(x, 30)),
    **_each("nanquantile quantile", lambda f, x: f(x, 0.3)),
    **_each(
        "argpartition partition topk repeat roll tile expand_dims rollaxis", lambda f, x: f(x, 1)
    ),
    **_each("bartlett blackman eye hamming hanning identity tri", lambda f: f(6)),
    **_each("diag_indices tril_indices triu_indices arange", lambda f: f(4)),
    **_each("empty ones zeros indices", lambda f: f((2, 3))),
    **_each("geomspace linspace logspace", lambda f: f(1.0, 2.0, 5)),
    **_each("finfo", lambda f: f(np.float32)),
    **_each("iinfo", lambda f: f(np.int32)),
    "__array_namespace_info__": lambda f: f(),
    "apply_along_axis": lambda f, x: f(lambda row: row.sum(), 1, x),
    "apply_over_axes": lambda f, x: f(np.sum, x, [0]),
    "astype": lambda f, x: f(x, np.float32),
    "broadcast_shapes": lambda f: f((3, 1), (4,)),
    "broadcast_to": lambda f, v: f(v, (3, 8)),
    "can_cast": lambda f: f(np.int32, np.float64),
    "choose": lambda f, i, v: f(i, [v[:3], v[1:4], v[2:5]]),
    "clip": lambda f, x: f(x, 0.2, 0.8),
    "compress": lambda f, x: f(np.array([True, False, True, True]), x, axis=0),
    "copyto": lambda f, x, y: _changed(f, x, y),
    "cross": lambda f, i, v: f(i, v[:3]),
    "delete": lambda f, v: f(v, 2),
    "digitize": lambda f, v, w: f(v, w),
    "einsum": lambda f, x, y: f("ij,jk->ik", x, y),
    "extract": lambda f, b, x: f(b, x),
    "fill_diagonal": lambda f, x: _changed(f, x, 3.0),
    "fromfunction": lambda f: f(lambda i, j: i + j, (3, 4)),
    "full": lambda f: f((2, 3), 1.5),
    "full_like": lambda f, x: f(x, 1.5),
    "insert": lambda f, v: f(v, 2, 0.5),
    "interp": lambda f, x, w, v: f(x, w, v),
    "isdtype": lambda f: f(np.dtype("f4"), "real floating"),
    "ix_": lambda f, i: f(i, i),
    "kaiser": lambda f: f(6, 2.0),
    "ldexp": lambda f, x, n: f(x, n),
    "mask_indices": lambda f: f(3, np.triu),
    "matvec": lambda f, x, v: f(x, v[:4]),
    "moveaxis": lambda f, t: f(t, 0, -1),
    "pad": lambda f, x: f(x, 1),
    "permute_dims": lambda f, t: f(t, (2, 0, 1)),
    "piecewise": lambda f, x: f(x, [x > 0.5], [lambda a: a * 2, lambda a: a]),
    "place": lambda f, x, b, v: _changed(f, x, b, v),
    "put": lambda f, x, i, v: _changed(f, x, i, v[:3]),
    "put_along_axis": lambda f, x, i, v: _changed(f, x[1:], i[:, None], 1.5, 1),
    "polydiv": lambda f, v: f(v, v[:3]),
    "putmask": lambda f, x, b, y: _changed(f, x, b, y),
    "ravel_multi_index": lambda f, i: f((i, i), (4, 4)),
    "reshape": lambda f, x: f(x, (2, 8)),
    "resize": lambda f, x: f(x, (3, 7)),
    "result_type": lambda f, x, n: f(x, n),
    **_each("asanyarray asarray_chkfinite asfortranarray require", lambda f, x: f(x)),
    **_each("iscomplexobj isrealobj isscalar iterable ndim shape size", lambda f, x: f(x)),
    "promote_types": lambda f: f(np.float32, np.int64),
    "common_type": lambda f, x, n: f(x, n),
    "einsum_path": lambda f, x, y: f("ij,jk->ik", x, y),
    "frombuffer": lambda f: f(bytes(range(8)), np.uint8),
    "fromiter": lambda f: f(range(8), np.float64),
    "fromstring": lambda f: f("1 2 3", np.float64, sep=" "),
    "issubdtype": lambda f: f(np.float32, np.floating),
    "min_scalar_type": lambda f: f(300),
    "polyfit": lambda f, w, v: f(w, v, 2),
    "roots": lambda f, v: f(v[:5]),
    "sort_complex": lambda f, z: f(z),
    "select": lambda f, x, y: f([x > 0.5, y > 0.5], [x, y], 0.0),
    "sliding_window_view": lambda f, v: f(v, 3),
    "swapaxes": lambda f, x: f(x, 0, 1),
    "take": lambda f, x, i: f(x, i, axis=0),
    "take_along_axis": lambda f, x, i: f(x[1:], i[:, None], axis=1),
    "unravel_index": lambda f, i: f(i, (4, 4)),
    "vecmat": lambda f, x, v: f(v[:4], x),
    "vectorize": lambda f, x: f(lambda a: a + 1)(x),
}
LINALG: dict[str, Call] = {
    **_each("cholesky eigh eigvalsh det inv slogdet cond eig eigvals pinv", lambda f, p: f(p)),
    **_each("diagonal matrix_norm matrix_rank matrix_transpose norm qr svd", lambda f, x: f(x)),
    **_each("svdvals trace vector_norm", lambda f, x: f(x)),
    **_each("matmul outer tensordot vecdot", lambda f, x, y: f(x, y)),
    "cross": lambda f, x, y: f(x[:, :3], y[:, :3]),
    "outer": lambda f, v, w: f(v, w),
    "lstsq": lambda f, p, x: f(p, x),
    "matrix_power": lambda f, x: f(x, 3),
    "multi_dot": lambda f, x, y: f([x, y, x]),
    "solve": lambda f, p, x: f(p, x),
    "tensorinv": lambda f, p: f(p.reshape(2, 2, 2, 2)),
    "tensorsolve": lambda f, p, x: f(p.reshape(2, 2, 4), x[:2, :2]),
}
FFT: dict[str, Call] = {
    **_each("fft ifft fft2 ifft2 fftn ifftn irfft irfft2 irfftn hfft", lambda f, z: f(z)),
    **_each("rfft rfft2 rfftn ihfft fftshift ifftshift", lambda f, x: f(x)),
    **_each("fftfreq rfftfreq", lambda f: f(8)),
}
SPECIAL: dict[str, Call] = {
    **_each(
        "cbrt digamma entr erf erfc erfcinv erfinv exp2 expit expm1 gamma gammaln gammasgn i0 i0e "
        "i1 i1e log1p log_expit log_softmax logit logsumexp ndtr ndtri psi sinc softmax "
        "erfcx exp1 expi exprel j0 j1 k0 k0e k1 k1e log_ndtr sici spence y0 y1 factorial "
        "loggamma wofz",
        lambda f, x: f(x),
    ),
    **_each("kl_div rel_entr xlog1py xlogy", lambda f, x, y: f(x, y)),
    **_each(
        "beta betaln binom comb gammainc gammaincc huber poch pseudo_huber",
        lambda f, x, y: f(x + 2.0, y),
    ),
    **_each("betainc betaincc", lambda f, x, y, p: f(x + 1.0, y + 2.0, p / 8.0)),
    "bernoulli": lambda f: f(6),
    "multigammaln": lambda f, x: f(x + 3.0, 2),
    "polygamma": lambda f, x: f(2, x + 1.0),
    "zeta": lambda f, x, y: f(x + 2.0, y),
}
RANDOM: dict[str, Call] = {
    **_each(
        "bits cauchy exponential gumbel laplace logistic normal rademacher uniform",
        lambda f, k: f(k, (8,)),
    ),
    **_each("chisquare gamma loggamma rayleigh t pareto lognormal", lambda f, k, v: f(k, v)),
    **_each("poisson dirichlet geometric bernoulli", lambda f, k, v: f(k, v)),
    **_each("beta f weibull_min", lambda f, k, v, w: f(k, v, w)),
    **_each("truncated_normal", lambda f, k: f(k, -1.0, 1.0, (8,))),
    "categorical": lambda f, k, x: f(k, x),
    "choice": lambda f, k: f(k, 10, (8,)),
    "fold_in": lambda f, k: f(k, 3),
    "key": lambda f: f(3),
    "multivariate_normal": lambda f, k, x, p: f(k, x[0], p),
    "permutation": lambda f, k, v: f(k, v),
    "randint": lambda f, k: f(k, (8,), 0, 100),
    "split": lambda f, k: f(k),
    "triangular": lambda f, k: f(k, -1.0, 0.5, 2.0, (8,)),
}
CALLS: dict[str, Call] = {
    f"{space}.{name}": call
    for space, calls in zip(SPACES, (NUMPY, LINALG, FFT, SPECIAL, RANDOM), strict=True)
    for name, call in calls.items()
}
"""What is called, by the function's full name."""

NO_ARRAYS = frozenset(
    f"pyc.numpy.{n}"
    for n in (
        *("__array_namespace_info__", "broadcast_shapes", "can_cast", "finfo", "iinfo", "isdtype"),
        *("result_type", "from_dlpack", "common_type", "einsum_path"),
        *("min_scalar_type", "promote_types"),
    )
)
"""Functions whose results are no arrays, or whose arguments are another library's."""
IN_PLACE = frozenset(
    f"pyc.numpy.{n}"
    for n in ("copyto", "fill_diagonal", "place", "put", "put_along_axis", "putmask")
)
"""Functions that change an array: `pyc.Array`s are immutable."""
NOT_JITTED = frozenset(
    f"pyc.numpy.{n}"
    for n in (
        *("argwhere", "extract", "flatnonzero", "nonzero", "trim_zeros", "unique", "unique_all"),
        *("unique_counts", "unique_inverse", "unique_values", "where", "intersect1d"),
        *("setdiff1d", "setxor1d", "union1d"),
    )
)
"""Functions whose results, for these calls, have shapes that depend on elements."""


def _changed(f: Call, x: Any, *args: Any) -> Any:
    """A function that changes an array, on one that was made for it."""
    made = np.copy(x)
    f(made, *args)
    return made


def functions() -> Iterator[str]:
    """The full names of all public functions."""
    for space in SPACES:
        module = importlib.import_module(space)
        for name in sorted(module.__all__):
            found = getattr(module, name)
            if callable(found) and not isinstance(found, type):
                yield f"{space}.{name}"


def arguments(call: Call) -> list[str]:
    """The names of the arrays that a call takes."""
    return [*call.__code__.co_varnames[1 : call.__code__.co_argcount]]


def made_for(way: str, name: str) -> bool:
    """Whether a function is called in a way."""
    not_so = {"pyc.Array": IN_PLACE, "jitted": NO_ARRAYS | NOT_JITTED}
    return name not in not_so.get(way, ())


def run(name: str, way: str) -> tuple[float, float]:
    """Seconds of the call of a function in this process, by the clock and of processors."""
    import pyc  # noqa: PLC0415 - the processes that measure are told when

    call = CALLS[name]
    arrays = [SAMPLES[a] for a in arguments(call)]
    if way == "pyc.Array":
        arrays = [pyc.device_put(a, "cpu") for a in arrays]
    space, _, function = name.rpartition(".")
    module = sys.modules[space]
    start, used = perf_counter(), process_time()
    found = attrgetter(function)(module)
    if way == "jitted":
        pyc.jit(lambda *given: call(found, *given))(*arrays)
    else:
        call(found, *arrays)
    return perf_counter() - start, process_time() - used


def memory_in_use() -> list[tuple[int, int, int]]:
    """First byte, size and advice of each run of pages that this process has in memory."""
    page, found = mmap.PAGESIZE, []
    with open("/proc/self/maps") as file:
        lines = [line.split() for line in file.read().splitlines()]
    with open("/proc/self/pagemap", "rb", buffering=0) as file:
        for place, access, *_ in lines:
            first, end = (int(x, 16) for x in place.split("-"))
            if not access.startswith("r") or first >> 63:
                continue
            file.seek(first // page * 8)
            entries = np.frombuffer(file.read((end - first) // page * 8), np.uint64)
            there = np.concatenate([[False], entries >> np.uint64(63) != 0, [False]])
            edges = first + np.flatnonzero(there[1:] != there[:-1]).reshape(-1, 2) * page
            advice = POPULATE_WRITE if access == "rw-p" else POPULATE_READ
            found += [(start, stop - start, advice) for start, stop in edges.tolist()]
    return found


def own_memory(pages: list[tuple[int, int, int]]) -> None:
    """Copies the memory that a fork shares with its parent, which the first write to each page
    would do otherwise, and maps the code of its libraries, which a fork leaves to the first use; a
    kernel before Linux 5.14 does so then. pages: `memory_in_use` of the parent."""
    libc = ctypes.CDLL(None)
    for start, size, advice in pages:
        libc.madvise(ctypes.c_void_p(start), ctypes.c_size_t(size), advice)


def other_calls(function: str) -> None:
    """Jitted and eager calls of another function."""
    import pyc  # noqa: PLC0415

    x, plain = np.arange(3.0), getattr(np, function)
    pyc.jit(lambda x: plain(x * 2.0))(x)
    plain(pyc.device_put(x, "cpu"))
    getattr(pyc.numpy, function)(x)


def forked(
    name: str, way: str, folder: str, pages: list[tuple[int, int, int]], *, warm: bool
) -> list[float]:
    """Milliseconds of `run` in a fork of this process, with a cache directory. pages: what the fork
    copies before; warm: it makes other calls before too, for what was copied fills the caches of
    the processor, and the memory that the parent's calls left free is not the fork's."""
    from pyc import config  # noqa: PLC0415

    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        try:
            own_memory(pages)
            if warm:
                other_calls("sin")
            with config.using(cache_dir=folder):
                text = json.dumps(run(name, way))
        except BaseException as error:
            text = json.dumps(f"{type(error).__name__}: {error}")
        os.write(writer, text.encode()[:4000])
        os._exit(0)
    os.close(writer)
    with os.fdopen(reader) as file:
        found = json.loads(file.read())
    os.waitpid(child, 0)
    if isinstance(found, str):
        raise RuntimeError(f"{name}, {way}: {found}")
    return [seconds * 1e3 for seconds in found]


def measure(way: str, warm: bool, names: list[str]) -> dict[str, dict[str, list[float]]]:
    """Milliseconds by function and state, in forks of this process. warm: after other calls."""

    for space in SPACES:
        importlib.import_module(space)
    if warm:
        other_calls("cos")
    gc.collect()
    gc.freeze()
    pages = memory_in_use()
    found = {}
    with tempfile.TemporaryDirectory() as folder:
        for number, name in enumerate(names):
            cache = os.path.join(folder, str(number))
            os.mkdir(cache, mode=0o700)
            if warm:
                found[name] = {"new": forked(name, way, cache, pages, warm=True)}
            else:
                states = ("first ever", "again")
                found[name] = {s: forked(name, way, cache, pages, warm=False) for s in states}
    return found


def process(way: str, warm: bool, names: list[str]) -> dict[str, dict[str, list[float]]]:
    """`measure` in a process of its own."""
    code = "import sys, json; from benchmarks.namespace_calls import measure; "
    code += (
        "way, warm, names = json.loads(sys.argv[1]); print(json.dumps(measure(way, warm, names)))"
    )
    given = json.dumps([way, warm, names])
    with tempfile.TemporaryDirectory() as folder:
        environment = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"PYC_CACHE_DIR": folder}
        done = subprocess.run(
            [sys.executable, "-c", code, given],
            env=environment,
            cwd=ROOT,
            capture_output=True,
            text=True,
        )
    if done.returncode:
        sys.exit(done.stderr)
    found: dict[str, dict[str, list[float]]] = json.loads(done.stdout.splitlines()[-1])
    return found


def summary(times: dict[str, float]) -> dict[str, Any]:
    """Median and 90th percentile, and the ten slowest."""
    ordered = sorted(times.values())
    worst = sorted(times, key=lambda name: -times[name])[:10]
    return {
        "functions": len(ordered),
        "median": statistics.median(ordered),
        "90 %": ordered[len(ordered) * 9 // 10],
        "worst": {name: times[name] for name in worst},
    }


Times = dict[str, dict[str, dict[str, list[list[float]]]]]
"""Milliseconds by way, state and function: of each round, by the clock and of processors."""


def measured(names: list[str], rounds: int, times: Times) -> None:
    """Adds what functions take."""
    for _ in range(rounds):
        for way in WAYS:
            chosen = [n for n in names if made_for(way, n)]
            if not chosen:
                continue
            for warm in (False, True):
                for name, row in process(way, warm, chosen).items():
                    for state, found in row.items():
                        times[way][state].setdefault(name, []).append(found)


def records(times: Times) -> dict[str, Any]:
    """`summary` by way, state and clock, with the least time over the rounds of each function."""
    made: dict[str, Any] = {}
    for way, states in times.items():
        for state, functions in states.items():
            for k, clock in enumerate(("wall", "processor")):
                each = {n: round(min(v[k] for v in found), 3) for n, found in functions.items()}
                record = {**summary(each), "each": each}
                made.setdefault(way, {}).setdefault(state, {})[clock] = record
    return made


def arguments_of_program() -> argparse.Namespace:
    """The options of all benchmarks, and those of this."""
    given = parser(__doc__)
    given.add_argument("--only", default="", help="functions with this in their full names")
    given.add_argument("--seconds", type=float, help="no part begins after that many")
    return given.parse_args()


def main() -> None:
    """Measures all functions and prints medians and the slowest."""
    start = perf_counter()
    given = arguments_of_program()
    names = [n for n in CALLS if given.only in n]
    random.Random(SEED).shuffle(names)
    names = names[:: 10 if given.quick else 1]
    if not names:
        sys.exit(f"no function has {given.only!r} in its name")
    rounds = given.rounds or (1 if given.quick else 3)
    times: Times = {way: {state: {} for state in STATES} for way in WAYS}
    for first in range(0, len(names), PART):
        measured(names[first : first + PART], rounds, times)
        spent = perf_counter() - start
        done = {"measured": min(first + PART, len(names)), "of": len(names), "seconds": spent}
        sample = {**done, "seed": SEED, "budget_s": given.seconds}
        found = records(times)
        publish(given, {"rounds": rounds, "sample": sample, "times_ms": found})
        if given.seconds and spent > given.seconds:
            break
    print(f"{sample['measured']} of {sample['of']} functions, {rounds} rounds, {spent:.0f} s")
    for way, states in found.items():
        for state, clocks in states.items():
            for clock, record in clocks.items():
                slow = {n.removeprefix("pyc."): f"{v:.0f}" for n, v in record["worst"].items()}
                print(
                    f"{way:12} {state:10} {clock:9} {record['functions']} functions: median "
                    f"{record['median']:.1f} ms, 90 % {record['90 %']:.1f}; slowest "
                    + ", ".join(map(" ".join, slow.items()))
                )
    over = [w for w in WAYS if found[w]["new"]["wall"]["median"] > BOUND_MS]
    if over and not given.only:
        sys.exit(f"the median of new functions is above {BOUND_MS} ms: {', '.join(over)}")


if __name__ == "__main__":
    main()
