"""cuSOLVER and cuBLAS: the routines of `ir/solvers.py`, on a device's own memory and stream.

`found(device)` gives a `Solver`, or says why there is none. The libraries are those of NVIDIA's
wheels (`nvidia-cusolver` and what it needs), else those that the loader finds; they are loaded when
a program that has such a step is made. A device has one handle of each, with which one thread
works at a time: all work goes to one stream in any case. Nothing is waited for but by routines of
which a part runs on the host. What a routine says of a matrix (`info`) stays on the device.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator, Sequence
from functools import cache, partial
from threading import Lock
from typing import Any, NamedTuple

import numpy as np

from pyc.errors import DeviceError, OutOfMemoryError
from pyc.fingerprint import find
from pyc.ir.solvers import ALWAYS, GEEV, ROUTINES, SYEV_BATCHED, parts

EXTRA = "pip install 'pyc-jit[cuda-linalg]'"

_RELEASES = (
    (13, ("nvJitLink.so.13", "cublasLt.so.13", "cublas.so.13", "cusparse.so.12", "cusolver.so.12")),
    (12, ("nvJitLink.so.12", "cublasLt.so.12", "cublas.so.12", "cusparse.so.12", "cusolver.so.11")),
)
"""Releases of CUDA, the newest first, and the files of each, in the order in which they need each
other: who needs one then finds it loaded."""
_FOLDERS = ("cu{}", "cusolver", "cublas", "cusparse", "nvjitlink")
"""Where the wheels of a release put their files, within the package `nvidia`."""
_OUT_OF_MEMORY = {"cusolver": 2, "cublas": 3}
"""The status of each library for an allocation that failed."""
_DETERMINISTIC = 1
"""CUSOLVER_DETERMINISTIC_RESULTS."""
_TOGETHER, _MOST_BYTES = 16384, (1 << 31) - 1
"""What functions that work on matrices one behind the other take at most: more than some 32000
are refused, and offsets have 32 bits."""
_KEPT_POINTERS, _KEPT_BATCH = 64, 1 << 12
"""Arrays of pointers that a device keeps, and of how many matrices each is at most: memory that was
freed is soon the next of its size, so that calls meet the same addresses again."""
_LEFT, _ADJOINT = 0, 2
"""CUBLAS_SIDE_LEFT, CUBLAS_OP_C; what else is a choice of two is 0 or 1 in the order that the
integers of `ir/solvers.py` have too."""


class _Type(NamedTuple):
    """A type of elements. item, real: bytes of one and of its parts; kind, real_kind: their
    `cudaDataType`; one: the number 1."""

    item: int
    real: int
    kind: int
    real_kind: int
    one: np.ndarray[Any, Any]


_TYPES = {
    "s": _Type(4, 4, 0, 0, np.ones(1, np.float32)),
    "d": _Type(8, 8, 1, 1, np.ones(1, np.float64)),
    "c": _Type(8, 4, 4, 0, np.ones(1, np.complex64)),
    "z": _Type(16, 8, 5, 1, np.ones(1, np.complex128)),
}

SIGNATURES = {
    "cusolverGetVersion": "p",
    "cusolverDnCreate": "p",
    "cusolverDnSetStream": "pp",
    "cusolverDnSetDeterministicMode": "pi",
    "cusolverDnCreateParams": "p",
    "cusolverDnCreateGesvdjInfo": "p",
    "cusolverDn?potrf": "pii pi pi p",
    "cusolverDn?potrf_bufferSize": "pii pi p",
    "cusolverDn?potrfBatched": "pii pi p i",
    "cusolverDn?getrf": "pii pi p p p",
    "cusolverDn?getrf_bufferSize": "pii pi p",
    "cusolverDn?getrs": "piii pi p pi p",
    "cusolverDn?geqrf": "pii pi p pi p",
    "cusolverDn?geqrf_bufferSize": "pii pi p",
    "cusolverDn?orgqr": "piii pi p pi p",
    "cusolverDn?orgqr_bufferSize": "piii pi p p",
    "cusolverDn?syevd": "piii pi p pi p",
    "cusolverDn?syevd_bufferSize": "piii pi p p",
    "cusolverDn?gesvdj": "piiii pi p pi pi pi p p",
    "cusolverDn?gesvdj_bufferSize": "piiii pi p pi pi p p",
    "cusolverDn?gesvdjBatched": "piii pi p pi pi pi p p i",
    "cusolverDn?gesvdjBatched_bufferSize": "piii pi p pi pi p p i",
    "cusolverDnXsyevBatched": "ppii l ipl ip i pl pl p l",
    "cusolverDnXsyevBatched_bufferSize": "ppii l ipl ip i p p l",
    "cusolverDnXgeev": "ppii l ipl ip ipl ipl i pl pl p",
    "cusolverDnXgeev_bufferSize": "ppii l ipl ip ipl ipl i p p",
    "cublasCreate_v2": "p",
    "cublasSetStream_v2": "pp",
    "cublas?getrfBatched": "pi pi p p i",
    "cublas?getrsBatched": "piii pi p pi p i",
    "cublas?trsm_v2": "piiii ii p pi pi",
    "cublas?trsmBatched": "piiii ii p pi pi i",
    "cublas?gemmStridedBatched": "pii iii p pil pil p pil i",
}
"""Parameters of the functions, `?` being the letter of the type: pointers and handles, ints, and
what has 64 bits (cuSOLVER and cuBLAS libraries, "API reference")."""
_LETTERS: dict[str, Any] = {"p": ctypes.c_void_p, "i": ctypes.c_int, "l": ctypes.c_int64}
_COMPLEX_NAMES = {"syevd": "heevd", "orgqr": "ungqr"}


def found(device: Any) -> Solver | str:
    """What calls the libraries on a device, or why nothing does."""
    why = f"the driver is of a release before CUDA {_RELEASES[-1][0]}"
    for release, files in _RELEASES:
        if device.driver_version < 1000 * release:
            continue
        loaded = _loaded(release, files)
        if not isinstance(loaded, str):
            return Solver(device, loaded)
        if device.driver_version < 1000 * (release + 1) or release == _RELEASES[0][0]:
            why = loaded
    return f"{why}; {EXTRA}"


def _loaded(release: int, files: Sequence[str]) -> Callable[[str], int] | str:
    """What gives the address of a function by its name (0: there is none), or why not."""
    folders = [
        os.path.join(place, folder.format(release), "lib")
        for place in _places()
        for folder in _FOLDERS
    ]
    known: list[ctypes.CDLL] = []
    for file in (f"lib{name}" for name in files):
        paths = [os.path.join(folder, file) for folder in folders]
        path = next(filter(os.path.exists, paths), file)
        try:
            known.append(ctypes.CDLL(path))
        except OSError as error:
            # What others need they may find by themselves.
            if "libcusolver" in file or "libcublas." in file:
                return f"{file} cannot be loaded: {error}"
    return partial(_address, known[::-1])


def _places() -> list[str]:
    spec = find("nvidia")
    return list(spec.submodule_search_locations or ()) if spec is not None else []


def _address(libraries: Sequence[ctypes.CDLL], name: str) -> int:
    """The address of a function, 0 if none of the libraries has it."""
    for library in libraries:
        function = getattr(library, name, None)
        if function is not None:
            return ctypes.cast(function, ctypes.c_void_p).value or 0
    return 0


@cache
def name_of(pattern: str, letter: str) -> str:
    """The function of a type."""
    if letter in "cz":
        for real, of_complex in _COMPLEX_NAMES.items():
            pattern = pattern.replace(f"?{real}", f"?{of_complex}")
    return pattern.replace("?", letter.upper())


class Solver:
    """The libraries on one device. address: of a function by its name, 0 if there is none.

    routines: those that they have, as `Target.solver` names them; version: cuSOLVER's.
    """

    def __init__(self, device: Any, address: Callable[[str], int]) -> None:
        self._device = device
        self._address = address
        self._functions: dict[str, Callable[..., int]] = {}
        self._lock = Lock()
        self._handles: dict[str, int] = {}
        self._pointers: dict[tuple[int, int, int], int] = {}
        newer = {GEEV: "cusolverDnXgeev", SYEV_BATCHED: "cusolverDnXsyevBatched"}
        has = (routine for routine, name in newer.items() if address(name))
        self.routines = tuple(sorted((*ALWAYS, *has)))
        number = ctypes.c_int()
        self._call("cusolverGetVersion", ctypes.addressof(number))
        self.version = f"cuSOLVER {number.value}"

    def run(self, routine: str, integers: Sequence[int], addresses: Sequence[int]) -> None:
        """Does a step on the device's stream. addresses: of its slots."""
        letter, name, batched = parts(routine)
        count, *sizes = integers
        with self._lock, _Call(self, letter, count) as call:
            _DO[name, batched](call, *addresses, **dict(zip(ROUTINES[name].sizes, sizes)))

    def pointers(self, address: int, stride: int, count: int) -> int:
        """On the device, an array of pointers to `count` pieces of `stride` bytes, the last kept.
        The lock is held."""
        key = address, stride, count
        place = self._pointers.pop(key, 0)
        if not place:
            if len(self._pointers) == _KEPT_POINTERS:
                oldest = next(iter(self._pointers))
                self._device.free(self._pointers.pop(oldest), 8 * oldest[2])
            place = self._device.allocate(8 * count)
            self.point(place, *key)
        self._pointers[key] = place
        return place

    def point(self, place: int, address: int, stride: int, count: int) -> None:
        """Writes such an array."""
        values = np.uint64(address) + np.uint64(stride) * np.arange(count, dtype=np.uint64)
        # The driver has copied what is not pinned when it returns.
        self._device.write(place, values)

    def handle(self, name: str) -> int:
        """What a function "cusolverDn...", "cublas...", or of parameters is called with, made once
        for this device. The lock is held."""
        if name not in self._handles:
            made = ctypes.c_void_p()
            self._call(name, ctypes.addressof(made))
            value = self._handles[name] = made.value or 0
            stream = int(self._device.stream)
            if name == "cublasCreate_v2":
                self._call("cublasSetStream_v2", value, stream)
            elif name == "cusolverDnCreate":
                self._call("cusolverDnSetStream", value, stream)
                if self._address("cusolverDnSetDeterministicMode"):
                    self._call("cusolverDnSetDeterministicMode", value, _DETERMINISTIC)
        return self._handles[name]

    def call(self, pattern: str, letter: str, *arguments: int) -> None:
        """Calls a function of one of the libraries for a type, on its handle."""
        name = name_of(pattern, letter)
        own = "cublasCreate_v2" if name.startswith("cublas") else "cusolverDnCreate"
        self._call(name, self.handle(own), *arguments, like=pattern)

    def _call(self, name: str, *arguments: int, like: str = "") -> None:
        """Calls a function by its name. like: under which its parameters are known, if that is
        another one. DeviceError or OutOfMemoryError: it refuses."""
        function = self._functions.get(name)
        if function is None:
            address = self._address(name)
            if not address:
                raise DeviceError(f"the libraries of linear algebra have no {name}", fix=_UPDATE)
            types = (_LETTERS[x] for x in SIGNATURES[like or name] if x != " ")
            function = ctypes.CFUNCTYPE(ctypes.c_int, *types)(address)
            self._functions[name] = function
        status = function(*arguments)
        if not status:
            return
        library = "cublas" if name.startswith("cublas") else "cusolver"
        if status == _OUT_OF_MEMORY[library]:
            raise OutOfMemoryError(f"{name} could not allocate on {self._device.label}")
        raise DeviceError(f"{name} ended with status {status} of {library}", fix=_UPDATE)


_ON_HOST = "`PYC_DEVICE_LINALG=host` has the host do it."
_UPDATE = f"`python -m pyc doctor` shows the version; a newer one: `{EXTRA} --upgrade`."


class _Call:
    """One step under way: workspace of its own, which goes back to the device when it is left (in
    the order of the stream, so while the work may still run)."""

    def __init__(self, solver: Solver, letter: str, count: int) -> None:
        self._solver = solver
        self._device = solver._device
        self._letter = letter
        self._held: list[tuple[int, int]] = []
        self.type = _TYPES[letter]
        self.count = count

    def __enter__(self) -> _Call:
        return self

    def __exit__(self, *error: object) -> None:
        for address, nbytes in self._held:
            self._device.free(address, nbytes)

    def function(self, pattern: str, *arguments: int) -> None:
        """Calls a function for the type, behind the handle."""
        self._solver.call(pattern, self._letter, *arguments)

    def parameters(self, name: str) -> int:
        """An object of parameters with their defaults."""
        return self._solver.handle(name)

    def work(self, elements: int, nbytes: int = 0) -> int:
        """The address of workspace. nbytes: of an element, if it is not of the type."""
        size = max(elements * (nbytes or self.type.item), 1)
        self._held.append((self._device.allocate(size), size))
        return self._held[-1][0]

    def asked(self, pattern: str, *arguments: int, behind: Sequence[int] = ()) -> tuple[int, int]:
        """Workspace of as many elements as a function says: its address, and how many. behind:
        arguments that follow where it says so."""
        answer = ctypes.c_int()
        self.function(pattern, *arguments, ctypes.addressof(answer), *behind)
        if answer.value < 0:
            name = name_of(pattern, self._letter)
            text = f"{name} asks for {answer.value} elements of workspace"
            raise DeviceError(text, fix=_ON_HOST)
        return self.work(answer.value), answer.value

    def asked_bytes(
        self, pattern: str, *arguments: int, behind: Sequence[int] = ()
    ) -> tuple[int, int, np.ndarray[Any, Any]]:
        """Workspace of the bytes that a function says: address and bytes on the device, and what
        is on the host."""
        device, host = ctypes.c_size_t(), ctypes.c_size_t()
        answers = ctypes.addressof(device), ctypes.addressof(host)
        self.function(pattern, *arguments, *answers, *behind)
        memory = np.empty(max(host.value, 1), np.uint8)
        return self.work(device.value, 1), device.value, memory

    def moved(self, destination: int, source: int, elements: int) -> None:
        """Copies elements for each matrix, unless they are there."""
        self._device.copy(destination, source, self.count * elements * self.type.item)

    def copy(self, destination: int, source: int, nbytes: int) -> None:
        """Copies bytes."""
        self._device.copy(destination, source, nbytes)

    def zeros(self, address: int, elements: int) -> None:
        """Makes elements for each matrix 0."""
        self._device.fill(address, 0, self.count * elements * self.type.item)

    def each(self, address: int, elements: int, nbytes: int = 0) -> list[int]:
        """Where each matrix has its elements."""
        stride = elements * (nbytes or self.type.item)
        return [address + k * stride for k in range(self.count)]

    def portions(self, elements: int) -> Iterator[tuple[int, int]]:
        """So many matrices at a time as a function takes: the first of them, and how many."""
        step = max(min(_TOGETHER, _MOST_BYTES // (elements * self.type.item)), 1)
        for first in range(0, self.count, step):
            yield first, min(step, self.count - first)

    def pointers(self, address: int, elements: int) -> int:
        """The same on the device, as an array of pointers."""
        stride = elements * self.type.item
        if self.count <= _KEPT_BATCH:
            return self._solver.pointers(address, stride, self.count)
        place = self.work(self.count, 8)
        self._solver.point(place, address, stride, self.count)
        return place

    def wait(self) -> None:
        """Waits for the device: the host's part of a routine has memory here."""
        self._device.synchronize()


# --- factorisations and equations -----------------------------------------------------------------


def _potrf(s: _Call, a: int, factor: int, info: int, *, upper: int, n: int) -> None:
    """By rows, so the other triangle is meant: a lower one, 0, for `upper`."""
    s.moved(factor, a, n * n)
    side = 1 - upper
    work, size = s.asked("cusolverDn?potrf_bufferSize", side, n, factor, n)
    for matrix, said in zip(s.each(factor, n * n), s.each(info, 1, 4), strict=True):
        s.function("cusolverDn?potrf", side, n, matrix, n, work, size, said)


def _potrf_batched(s: _Call, a: int, factor: int, info: int, *, upper: int, n: int) -> None:
    s.moved(factor, a, n * n)
    matrices = s.pointers(factor, n * n)
    s.function("cusolverDn?potrfBatched", 1 - upper, n, matrices, n, info, s.count)


def _getrf(s: _Call, a: int, factors: int, pivots: int, info: int, *, m: int, n: int) -> None:
    s.moved(factors, a, m * n)
    work, _ = s.asked("cusolverDn?getrf_bufferSize", m, n, factors, m)
    places = s.each(factors, m * n), s.each(pivots, min(m, n), 4), s.each(info, 1, 4)
    for matrix, own, said in zip(*places, strict=True):
        s.function("cusolverDn?getrf", m, n, matrix, m, work, own, said)


def _getrf_batched(
    s: _Call, a: int, factors: int, pivots: int, info: int, *, m: int, n: int
) -> None:
    s.moved(factors, a, m * n)
    s.function("cublas?getrfBatched", n, s.pointers(factors, n * n), n, pivots, info, s.count)


def _getrs(s: _Call, factors: int, pivots: int, b: int, x: int, *, n: int, right: int) -> None:
    s.moved(x, b, n * right)
    said = s.work(1, 4)
    places = s.each(factors, n * n), s.each(pivots, n, 4), s.each(x, n * right)
    for matrix, own, columns in zip(*places, strict=True):
        s.function("cusolverDn?getrs", 0, n, right, matrix, n, own, columns, n, said)


def _getrs_batched(
    s: _Call, factors: int, pivots: int, b: int, x: int, *, n: int, right: int
) -> None:
    s.moved(x, b, n * right)
    said = ctypes.c_int()
    matrices, columns = s.pointers(factors, n * n), s.pointers(x, n * right)
    rest = pivots, columns, n, ctypes.addressof(said), s.count
    s.function("cublas?getrsBatched", 0, n, right, matrices, n, *rest)
    assert not said.value, f"argument {-said.value} of getrsBatched"


def _trsm(
    s: _Call,
    a: int,
    b: int,
    x: int,
    *,
    upper: int,
    transposed: int,
    unit: int,
    n: int,
    right: int,
) -> None:
    s.moved(x, b, n * right)
    flags, one = (_LEFT, upper, transposed, unit), s.type.one.ctypes.data
    s.function("cublas?trsm_v2", *flags, n, right, one, a, n, x, n)


def _trsm_batched(
    s: _Call,
    a: int,
    b: int,
    x: int,
    *,
    upper: int,
    transposed: int,
    unit: int,
    n: int,
    right: int,
) -> None:
    s.moved(x, b, n * right)
    flags, one = (_LEFT, upper, transposed, unit), s.type.one.ctypes.data
    matrices, columns = s.pointers(a, n * n), s.pointers(x, n * right)
    s.function("cublas?trsmBatched", *flags, n, right, one, matrices, n, columns, n, s.count)


def _gemm(
    s: _Call,
    a: int,
    b: int,
    c: int,
    *,
    adjoint: int,
    m: int,
    n: int,
    k: int,
    leading_a: int,
    leading_b: int,
    leading_c: int,
    columns_a: int,
) -> None:
    """Rows of c beyond m are 0."""
    if leading_c > m:
        s.zeros(c, leading_c * n)
    one, zero = s.type.one, np.zeros_like(s.type.one)
    left = a, leading_a, leading_a * columns_a
    right = b, leading_b, leading_b * n
    result = zero.ctypes.data, c, leading_c, leading_c * n, s.count
    shape = _ADJOINT if adjoint else 0, 0, m, n, k, one.ctypes.data
    s.function("cublas?gemmStridedBatched", *shape, *left, *right, *result)


def _geqrf(s: _Call, a: int, reflectors: int, taus: int, *, m: int, n: int) -> None:
    s.moved(reflectors, a, m * n)
    work, size = s.asked("cusolverDn?geqrf_bufferSize", m, n, reflectors, m)
    said = s.work(1, 4)
    for matrix, own in zip(s.each(reflectors, m * n), s.each(taus, min(m, n)), strict=True):
        s.function("cusolverDn?geqrf", m, n, matrix, m, own, work, size, said)


def _orgqr(
    s: _Call,
    given: int,
    taus: int,
    q: int,
    *,
    m: int,
    n: int,
    reflectors: int,
    columns: int,
) -> None:
    item = s.type.item
    if columns == n:
        s.moved(q, given, m * n)
    else:
        for to, source in zip(s.each(q, m * columns), s.each(given, m * n), strict=True):
            s.copy(to, source, m * min(n, columns) * item)
    shape = m, columns, reflectors
    work, size = s.asked("cusolverDn?orgqr_bufferSize", *shape, q, m, taus)
    said = s.work(1, 4)
    for matrix, own in zip(s.each(q, m * columns), s.each(taus, reflectors), strict=True):
        s.function("cusolverDn?orgqr", *shape, matrix, m, own, work, size, said)


# --- singular values and eigenvalues --------------------------------------------------------------


def _gesvdj(s: _Call, a: int, values: int, *rest: int, vectors: int, m: int, n: int) -> None:
    least, wide, high = _columns(vectors, m, n)
    *both, info = rest
    # It writes U and V in any case.
    u, v = both or (s.work(m * least), s.work(n * least))
    given = s.parameters("cusolverDnCreateGesvdjInfo")
    matrix = s.work(m * n)
    job = int(vectors > 0), int(vectors != 2), m, n, matrix, m
    asked = "cusolverDn?gesvdj_bufferSize"
    work, size = s.asked(asked, *job, values, u, m, v, n, behind=(given,))
    places = (s.each(a, m * n), s.each(values, least, s.type.real), s.each(info, 1, 4))
    own = (s.each(u, m * wide), s.each(v, n * high)) if both else ([u] * s.count, [v] * s.count)
    for source, found, said, left, right in zip(*places, *own, strict=True):
        s.copy(matrix, source, m * n * s.type.item)
        s.function("cusolverDn?gesvdj", *job, found, left, m, right, n, work, size, said, given)


def _gesvdj_batched(
    s: _Call, a: int, values: int, *rest: int, vectors: int, m: int, n: int
) -> None:
    *both, info = rest
    u, v = both or (s.work(s.count * m * m), s.work(s.count * n * n))
    given = s.parameters("cusolverDnCreateGesvdjInfo")
    matrices = s.work(s.count * m * n)
    s.moved(matrices, a, m * n)
    asked, work, size = "cusolverDn?gesvdjBatched_bufferSize", 0, 0
    item, real = s.type.item, s.type.real
    for k, some in s.portions(max(m, n) ** 2):
        found = values + k * min(m, n) * real
        own = u + k * m * m * item, m, v + k * n * n * item, n
        job = int(vectors > 0), m, n, matrices + k * m * n * item, m, found, *own
        if not k:
            work, size = s.asked(asked, *job, behind=(given, some))
        s.function("cusolverDn?gesvdjBatched", *job, work, size, info + 4 * k, given, some)


def _columns(vectors: int, m: int, n: int) -> tuple[int, int, int]:
    """The number of values, and the columns of U and V."""
    least = min(m, n)
    return (least, m, n) if vectors == 2 else (least, least, least)


def _syevd(s: _Call, a: int, values: int, *rest: int, vectors: int, upper: int, n: int) -> None:
    *own, info = rest
    matrices = own[0] if own else s.work(s.count * n * n)
    s.moved(matrices, a, n * n)
    job = vectors, upper, n
    work, size = s.asked("cusolverDn?syevd_bufferSize", *job, matrices, n, values)
    places = s.each(matrices, n * n), s.each(values, n, s.type.real), s.each(info, 1, 4)
    for matrix, found, said in zip(*places, strict=True):
        s.function("cusolverDn?syevd", *job, matrix, n, found, work, size, said)


def _syevd_batched(
    s: _Call, a: int, values: int, *rest: int, vectors: int, upper: int, n: int
) -> None:
    *own, info = rest
    matrices = own[0] if own else s.work(s.count * n * n)
    s.moved(matrices, a, n * n)
    given = s.parameters("cusolverDnCreateParams")
    kind, real_kind = s.type.kind, s.type.real_kind
    work, size, host = 0, 0, np.empty(0, np.uint8)
    for k, some in s.portions(n * n):
        places = matrices + k * n * n * s.type.item, values + k * n * s.type.real
        job = given, vectors, upper, n, kind, places[0], n, real_kind, places[1], kind
        if not k:
            asked = "cusolverDnXsyevBatched_bufferSize"
            work, size, host = s.asked_bytes(asked, *job, behind=(some,))
        behind = work, size, host.ctypes.data, host.nbytes, info + 4 * k, some
        s.function("cusolverDnXsyevBatched", *job, *behind)
    if host.nbytes > 1:
        s.wait()


def _geev(s: _Call, a: int, *rest: int, vectors: int, n: int) -> None:
    """Of a real matrix the real parts of the values come first, then the others."""
    *found, info = rest
    right = found.pop() if vectors else 0
    item = s.type.item
    given = s.parameters("cusolverDnCreateParams")
    matrix, values = s.work(n * n), s.work(len(found) * n)
    kind = s.type.kind
    job = given, 0, vectors, n, kind, matrix, n, kind, values, kind, 0, n, kind

    asked = "cusolverDnXgeev_bufferSize"
    work, size, host = s.asked_bytes(asked, *job, right, n, kind)
    for k in range(s.count):
        s.copy(matrix, a + k * n * n * item, n * n * item)
        own = right + k * n * n * item if right else 0
        rest = work, size, host.ctypes.data, host.nbytes, info + 4 * k
        s.function("cusolverDnXgeev", *job, own, n, kind, *rest)
        for part, to in enumerate(found):
            s.copy(to + k * n * item, values + part * n * item, n * item)
    s.wait()


_DO: dict[tuple[str, bool], Callable[..., None]] = {
    ("potrf", False): _potrf,
    ("potrf", True): _potrf_batched,
    ("getrf", False): _getrf,
    ("getrf", True): _getrf_batched,
    ("getrs", False): _getrs,
    ("getrs", True): _getrs_batched,
    ("trsm", False): _trsm,
    ("trsm", True): _trsm_batched,
    ("gemm", False): _gemm,
    ("gemm", True): _gemm,
    ("geqrf", False): _geqrf,
    ("orgqr", False): _orgqr,
    ("gesvdj", False): _gesvdj,
    ("gesvdj", True): _gesvdj_batched,
    ("syevd", False): _syevd,
    ("syevd", True): _syevd_batched,
    ("geev", False): _geev,
}
"""What each routine calls, for each matrix and for all at once."""
