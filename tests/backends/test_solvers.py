"""Linear algebra by a device's libraries: what is called, with which memory, and how it fails.

The device is `InterpretedDevice` and its libraries are `StandIn`, so that all that pyc does around
them runs without a GPU: Plans, layouts, workspace, pointers, checks. It shows nothing about the
libraries themselves; `test_cuda_solvers.py` does.
"""

from __future__ import annotations

import ctypes
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
import pyc.scipy.linalg
from pyc import compile_cuda, config
from pyc.backends import cusolver
from pyc.backends.cusolver import SIGNATURES, Solver
from pyc.errors import DeviceError, OutOfMemoryError, PycError
from pyc.explanation.timing import why_not
from pyc.ir.plan import Library, walk_steps
from pyc.ir.solvers import CHOLESKY_TURNED, is_solver, routine_of
from pyc.ir.target import SM_90
from pyc.numpy.factorisations import bound
from pyc.reasons import Reason, collecting
from tests.backends import interpreted_device, stand_in_solver
from tests.backends.interpreted_device import InterpretedDevice
from tests.backends.stand_in_solver import _PLAIN, _TYPED, StandIn

Array = np.ndarray[Any, Any]
TYPES = ("float32", "float64", "complex64", "complex128")


@pytest.fixture(autouse=True)
def no_cache() -> Iterator[None]:
    with config.using(cache="off"):
        yield


@pytest.fixture
def library() -> StandIn:
    return StandIn()


@pytest.fixture
def device(library: StandIn, monkeypatch: pytest.MonkeyPatch) -> InterpretedDevice:
    """A device with the libraries, where programs look for a GPU."""
    on = InterpretedDevice(SM_90)
    on.solver = Solver(on, library.address)
    interpreted_device.install(on, monkeypatch)
    return on


def test_pointers_to_a_batch_are_written_once(
    device: InterpretedDevice, monkeypatch: pytest.MonkeyPatch
) -> None:
    """For an address, which calls meet again; the last ones are kept, and name what they did."""
    monkeypatch.setattr(cusolver, "_KEPT_POINTERS", 3)
    solver, written = device.solver, []
    write = device.write
    monkeypatch.setattr(device, "write", lambda place, x: (written.append(x), write(place, x)))

    def pointed(address: int) -> list[int]:
        place = solver.pointers(address, 64, 5)
        found = np.empty(5, np.uint64)
        device.read(found, place)
        return [int(p) for p in found]

    for address in (4096, 8192, 4096, 512, 4096, 1024, 4096, 8192):
        assert pointed(address) == [address + 64 * k for k in range(5)]
    assert [int(x[0]) for x in written] == [4096, 8192, 512, 1024, 8192]


def random(dtype: str, *shape: int, seed: int = 0) -> Array:
    rng = np.random.default_rng(seed)
    x = rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 1j * rng.standard_normal(shape)
    return x.astype(dtype)


def definite(x: Array) -> Array:
    """Hermitian, positive definite matrices."""
    n = x.shape[-1]
    return (x @ x.conj().swapaxes(-1, -2) + n * np.eye(n)).astype(x.dtype)


def close(a: Array, b: Array) -> bool:
    kind = np.asarray(a).dtype
    exact = np.finfo(kind).eps if kind.kind in "fc" else 0.0
    size = max(float(np.abs(b).max(initial=0)), 1.0)
    return (
        a.dtype == b.dtype and a.shape == b.shape and bool(np.allclose(a, b, 0, 2e4 * exact * size))
    )


def routines(library: StandIn) -> set[str]:
    """The functions that did the work."""
    return {c for c in library.called if not c.endswith("_bufferSize") and c not in _PLAIN_HELPERS}


_PLAIN_HELPERS = {n for n in _PLAIN if not n.startswith("cusolverDnX")}


def on_device(function: Callable[..., Any], *arguments: Array) -> list[Array]:
    """Results of a program there, all of whose linear algebra is the libraries'."""
    with collecting() as events:
        found = pyc.tree.leaves(pyc.jit(function, device="cuda")(*arguments))
    assert Reason.FALLBACK_HOST not in {e.reason for e in events}
    return [np.asarray(x) for x in found]


FUNCTIONS: dict[str, Callable[..., Any]] = {
    "cholesky": lambda a, h, b: np.linalg.cholesky(h),
    "cholesky_upper": lambda a, h, b: np.linalg.cholesky(h, upper=True),
    "solve": lambda a, h, b: np.linalg.solve(a, b),
    "inv": lambda a, h, b: np.linalg.inv(a),
    "det": lambda a, h, b: np.linalg.det(a),
    "slogdet": lambda a, h, b: tuple(np.linalg.slogdet(a)),
    "matrix_power": lambda a, h, b: np.linalg.matrix_power(a, -2),
    "eigvalsh": lambda a, h, b: np.linalg.eigvalsh(h, "U"),
    "svdvals": lambda a, h, b: np.linalg.svdvals(a),
    "matrix_rank": lambda a, h, b: np.linalg.matrix_rank(a),
    "pinv": lambda a, h, b: np.linalg.pinv(a),
    "cond": lambda a, h, b: np.linalg.cond(a),
    "lstsq": lambda a, h, b: pnp.linalg.lstsq(
        a.reshape(-1, *a.shape[-2:])[0], b.reshape(-1, *b.shape[-2:])[0]
    ),
    "expm": lambda a, h, b: pyc.scipy.linalg.expm(a),
    "qr_r": lambda a, h, b: np.linalg.qr(a, mode="r"),
    "triangular": lambda a, h, b: pyc.scipy.linalg.solve_triangular(h, b, lower=True),
    "triangular_adjoint": lambda a, h, b: pyc.scipy.linalg.solve_triangular(h, b, trans="C"),
    "triangular_unit": lambda a, h, b: pyc.scipy.linalg.solve_triangular(
        h / 50, b, trans=1, unit_diagonal=True
    ),
}


@pytest.mark.parametrize(
    ("dtype", "batch"),
    [("float32", (2, 2)), ("float64", ()), ("complex64", (3,)), ("complex128", ())],
    ids=str,
)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.usefixtures("device")
def test_the_results_of_the_cpu(
    name: str, batch: tuple[int, ...], dtype: str, library: StandIn
) -> None:
    a = random(dtype, *batch, 5, 5) + (4 * np.eye(5)).astype(dtype)
    h, b = definite(a), random(dtype, *batch, 5, 2, seed=1)
    expected = [np.asarray(x) for x in pyc.tree.leaves(pyc.jit(FUNCTIONS[name])(a, h, b))]
    found = on_device(FUNCTIONS[name], a, h, b)
    assert library.failure is None
    assert routines(library)
    for x, y in zip(found, expected, strict=True):
        assert close(x, y), f"{x} is not {y}"


BOTH = [("float32", ()), ("complex128", (3,))]


@pytest.mark.parametrize("upper", [False, True])
@pytest.mark.parametrize(("dtype", "batch"), BOTH, ids=str)
@pytest.mark.usefixtures("device")
def test_the_cholesky_factor_of_large_matrices(
    batch: tuple[int, ...], dtype: str, upper: bool, library: StandIn
) -> None:
    """The library is asked for the triangle that it is quick at, whichever is given."""
    n = CHOLESKY_TURNED
    h = definite(random(dtype, *batch, n, n))
    (factor,) = on_device(lambda h: np.linalg.cholesky(h, upper=upper), h)
    assert library.failure is None
    assert close(factor, np.linalg.cholesky(h, upper=upper))
    lowered = pyc.jit(lambda h: np.linalg.cholesky(h, upper=upper), device="cuda").lower(h)
    (step,) = [s for s in walk_steps(lowered.plan.steps) if isinstance(s, Library)]
    assert step.integers[-2:] == (1, n)  # an upper one by rows is a lower one by columns


SHAPES = {
    "square": (5, 5),
    "high": (7, 4),
    "wide": (4, 7),
    "large": (40, 35),
    "large wide": (35, 40),
}


@pytest.mark.parametrize(("dtype", "batch"), BOTH, ids=str)
@pytest.mark.parametrize("full", [False, True], ids=["reduced", "full"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("device")
def test_singular_vectors(shape: str, full: bool, batch: tuple[int, ...], dtype: str) -> None:
    """Vectors have signs of their own, so it is their product that counts."""
    a = random(dtype, *batch, *SHAPES[shape])
    u, s, vh = on_device(lambda a: tuple(np.linalg.svd(a, full_matrices=full)), a)
    expected = np.linalg.svd(a, full_matrices=full)
    assert [x.shape for x in (u, s, vh)] == [x.shape for x in expected]
    least = min(SHAPES[shape])
    assert close(s, expected[1])
    assert close((u[..., :least] * s[..., None, :]).astype(dtype) @ vh[..., :least, :], a)
    for x in (u, vh.conj().swapaxes(-1, -2)):
        assert close(
            x.conj().swapaxes(-1, -2) @ x,
            np.broadcast_to(np.eye(x.shape[-1], dtype=dtype), (*batch, x.shape[-1], x.shape[-1])),
        )


@pytest.mark.parametrize(("dtype", "batch"), BOTH, ids=str)
@pytest.mark.parametrize("mode", ["reduced", "complete"])
@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.usefixtures("device")
def test_qr(shape: str, mode: Any, batch: tuple[int, ...], dtype: str) -> None:
    a = random(dtype, *batch, *SHAPES[shape])
    q, r = on_device(lambda a: tuple(np.linalg.qr(a, mode=mode)), a)
    expected = np.linalg.qr(a, mode=mode)
    assert [x.shape for x in (q, r)] == [x.shape for x in expected]
    assert close(q @ r, a)
    assert close(
        q.conj().swapaxes(-1, -2) @ q,
        np.broadcast_to(np.eye(q.shape[-1], dtype=dtype), (*batch, q.shape[-1], q.shape[-1])),
    )
    assert not np.tril(r, -1).any()


@pytest.mark.parametrize(("dtype", "batch"), BOTH, ids=str)
@pytest.mark.parametrize("side", ["L", "U"])
@pytest.mark.usefixtures("device")
def test_eigenvectors_of_hermitian_matrices(
    side: Any, batch: tuple[int, ...], dtype: str, library: StandIn
) -> None:
    """Only one triangle is read."""
    h = definite(random(dtype, *batch, 6, 6))
    given = np.tril(h) if side == "L" else np.triu(h)
    values, vectors = on_device(lambda a: tuple(np.linalg.eigh(a, side)), given)
    assert close(values, np.linalg.eigvalsh(h))
    assert close(h @ vectors, (vectors * values[..., None, :]).astype(dtype))
    assert ("cusolverDnXsyevBatched" in library.called) == bool(batch)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("batch", [(), (3,)], ids=["one", "3"])
@pytest.mark.usefixtures("device")
def test_eigenvectors(batch: tuple[int, ...], dtype: str) -> None:
    """Of real matrices too, whose vectors come as pairs."""
    a = random(dtype, *batch, 6, 6)
    values, vectors = on_device(lambda a: tuple(np.linalg.eig(a)), a)
    assert close(a @ vectors, vectors * values[..., None, :])
    alone = on_device(np.linalg.eigvals, a)[0]
    assert close(np.sort_complex(alone), np.sort_complex(values))


@pytest.mark.parametrize("shape", [(9, 4), (4, 9), (40, 35)], ids=str)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.usefixtures("device")
def test_least_squares(shape: tuple[int, int], dtype: str) -> None:
    """Of a matrix of less than full rank: the least of the solutions."""
    a, b = random(dtype, *shape), random(dtype, shape[0], 2, seed=1)
    a[:, 1] = a[:, 0]
    x, _, rank, values = on_device(lambda a, b: pnp.linalg.lstsq(a, b), a, b)
    expected = np.linalg.lstsq(a, b, rcond=None)
    assert int(rank) == expected[2] == min(shape) - (shape[0] > shape[1])
    assert close(values, expected[3])
    assert close(x, expected[0])


@pytest.mark.parametrize("dtype", ["float32", "complex128"])
@pytest.mark.usefixtures("device")
def test_no_row_beyond_a_solution_is_left_as_it_was(dtype: str) -> None:
    """The op has as many rows as the matrix, of which a program reads the solution's only."""

    def function(a: Any, b: Any, share: Any) -> Any:
        return tuple(bound("least_squares", a, b, share))

    a, b = random(dtype, 3, 4, 9), random(dtype, 3, 2, 9, seed=1)
    arguments = a, b, np.full(3, 1e-3, a.real.dtype)
    x, *_ = on_device(function, *arguments)
    assert x[..., :4].all() and not x[..., 4:].any()
    plan = pyc.jit(function, device="cuda").lower(*arguments).plan  # memory may be zeros before
    assert "solver_zeros" in {k.name for k in plan.kernels}


@pytest.mark.usefixtures("device")
def test_a_loop_and_a_branch(library: StandIn) -> None:
    """Buffers that take turns, and steps that may not run."""

    def function(a: Any) -> Any:
        a = pyc.fori_loop(0, 3, lambda k, x: np.linalg.inv(x + k * np.eye(4)), a)
        return pyc.cond(a[0, 0] > 0, lambda a: np.linalg.inv(a), lambda a: np.linalg.qr(a)[0], a)

    a = random("float64", 4, 4) + 5 * np.eye(4)
    (found,) = on_device(function, a)
    assert close(found, np.asarray(pyc.jit(function)(a)))
    assert library.failure is None


def test_all_memory_goes_back(device: InterpretedDevice) -> None:
    """Workspace too."""
    a = random("float64", 3, 6, 6)
    f = pyc.jit(lambda a: tuple(np.linalg.svd(a)), device="cuda")
    f(a)
    before = len(device.memory)
    for _ in range(3):
        f(a)
    assert len(device.memory) == before


# --- failures -------------------------------------------------------------------------------------


SINGULAR = np.stack([np.eye(6), np.zeros((6, 6))])
MISSING = np.stack([np.eye(6), np.full((6, 6), np.nan)])
FAILURES: dict[str, tuple[Callable[[Any], Any], Array, str]] = {
    "inv": (lambda a: np.linalg.inv(a), SINGULAR, "inv: Singular matrix"),
    "solve": (lambda a: np.linalg.solve(a, a), SINGULAR, "solve: Singular matrix"),
    "cholesky": (lambda a: np.linalg.cholesky(a), SINGULAR, "not positive definite"),
    "cholesky of NaN": (lambda a: np.linalg.cholesky(a), MISSING, "not positive definite"),
    "svd of NaN": (lambda a: tuple(np.linalg.svd(a)), MISSING, "SVD did not converge"),
    "svdvals of NaN": (lambda a: np.linalg.svdvals(a), MISSING, "SVD did not converge"),
    "eigh of NaN": (lambda a: tuple(np.linalg.eigh(a)), MISSING, "Eigenvalues did not converge"),
    "eig of NaN": (lambda a: tuple(np.linalg.eig(a)), MISSING, "must not contain infs or NaNs"),
    "lstsq of NaN": (lambda a: pnp.linalg.lstsq(a[1], a[1])[0], MISSING, "SVD did not converge"),
    "triangular": (
        lambda a: pyc.scipy.linalg.solve_triangular(a, a),
        SINGULAR,
        "solve_triangular: Singular matrix",
    ),
}


@pytest.mark.parametrize("name", FAILURES)
@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.usefixtures("device")
def test_failures_are_numpys_errors_with_the_users_line(name: str, count: int) -> None:
    function, given, text = FAILURES[name]
    given = given[2 - count :]
    if "lstsq" in name and count == 1:
        given = np.concatenate([given, given])
    with pytest.raises(np.linalg.LinAlgError, match=text) as found:
        pyc.jit(function, device="cuda")(given)
    assert "test_solvers.py" in str(found.value)


@pytest.mark.usefixtures("device")
def test_failures_of_arrays_that_stay_come_with_the_first_read() -> None:
    """The call itself waits for nothing."""
    a = pyc.device_put(SINGULAR, "cuda")
    found = pyc.jit(lambda a: np.linalg.inv(a))(a)
    with pytest.raises(np.linalg.LinAlgError, match="Singular matrix"):
        np.asarray(found)


@pytest.mark.usefixtures("device")
def test_singular_matrices_have_determinants() -> None:
    """0, and no error."""
    det, sign, log = on_device(
        lambda a: (np.linalg.det(a), *np.linalg.slogdet(a)), SINGULAR.astype(np.float32)
    )
    assert det.tolist() == [1, 0] and sign.tolist() == [1, 0] and log.tolist() == [0, -np.inf]


def message(function: Callable[[Any], Any]) -> str:
    """Of the error in a program, without its lines."""
    with pytest.raises(PycError) as found:
        pyc.jit(function, device="cuda")(np.eye(6))
    return str(found.value).partition("\n  at ")[0]


def test_errors(
    library: StandIn, device: InterpretedDevice, monkeypatch: pytest.MonkeyPatch, golden: Any
) -> None:
    library.refusing |= {"cusolverDnDgetrf": 6, "cusolverDnDgeqrf": 2}
    found = [message(lambda a: np.linalg.inv(a)), message(lambda a: np.linalg.qr(a)[0])]
    monkeypatch.setattr(stand_in_solver, "WORK", -1)
    found.append(message(lambda a: np.linalg.cholesky(a)))
    device.solver = Solver(device, StandIn(lacks=("cublasDtrsm_v2",)).address)
    found.append(message(lambda a: pyc.scipy.linalg.solve_triangular(a, a)))
    library.refusing = {"cublasCreate_v2": 3}
    with pytest.raises(OutOfMemoryError) as full:
        Solver(device, library.address).handle("cublasCreate_v2")
    found.append(str(full.value))
    compiled = pyc.jit(lambda a: np.linalg.inv(a), device="cuda").lower(np.eye(6)).compile()
    device.solver = "no libcusolver.so.12"
    with pytest.raises(DeviceError) as gone:
        compiled(np.eye(6))
    found.append(str(gone.value).partition("\n  at ")[0])
    golden("\n".join(found))


@pytest.mark.parametrize(("name", "status"), [("cusolverDnDpotrf", 2), ("cublasCreate_v2", 3)])
def test_no_memory_is_told_as_such(
    name: str, status: int, device: InterpretedDevice, library: StandIn
) -> None:
    library.refusing[name] = status
    function = {"cusolverDnDpotrf": np.linalg.cholesky, "cublasCreate_v2": np.linalg.inv}[name]
    before = len(device.memory)
    with pytest.raises(OutOfMemoryError):
        pyc.jit(lambda a: function(a), device="cuda")(SINGULAR[:1] if "potrf" in name else SINGULAR)
    assert len(device.memory) >= before


# --- what is chosen -------------------------------------------------------------------------------


def plan_of(function: Callable[..., Any], *arguments: Array) -> tuple[list[str], list[str]]:
    """The routines of a program, and why some are the host's."""
    lowered = pyc.jit(function, device="cuda").lower(*arguments)
    steps = [s for s in walk_steps(lowered.plan.steps) if isinstance(s, Library)]
    why = [d.details for d in lowered.decisions if d.reason is Reason.FALLBACK_HOST]
    return [s.routine for s in steps], why


CHOICES: dict[str, tuple[Callable[[Any], Any], tuple[int, ...], list[str]]] = {
    "one": (lambda a: np.linalg.inv(a), (6, 6), ["solver.dgetrf", "solver.dgetrs"]),
    "a batch of one": (lambda a: np.linalg.inv(a), (1, 6, 6), ["solver.dgetrf", "solver.dgetrs"]),
    "many": (
        lambda a: np.linalg.inv(a),
        (3, 6, 6),
        ["solver.dgetrf_batched", "solver.dgetrs_batched"],
    ),
    "large": (lambda a: np.linalg.det(a), (2, 600, 600), ["solver.dgetrf"]),
    "many, one by one": (
        lambda a: np.linalg.qr(a)[0],
        (3, 6, 6),
        ["solver.dgeqrf", "solver.dorgqr"],
    ),
    "small": (lambda a: np.linalg.inv(a), (200, 4, 4), []),
    "too many": (lambda a: np.linalg.qr(a, mode="r"), (17, 6, 6), ["lapack.dgeqrf"]),
    "many of some size": (lambda a: np.linalg.qr(a, mode="r"), (17, 128, 128), ["solver.dgeqrf"]),
    "nothing": (lambda a: np.linalg.cholesky(a), (3, 0, 0), []),
}


@pytest.mark.parametrize("name", CHOICES)
@pytest.mark.usefixtures("device")
def test_shapes_choose_the_routine(name: str) -> None:
    function, shape, expected = CHOICES[name]
    found, why = plan_of(function, np.zeros(shape))
    assert [r for r in found if expected or is_solver(r)] == expected
    assert bool(why) == (name in ("too many", "nothing"))


@pytest.mark.usefixtures("device")
def test_the_plan_of_a_device(golden: Any) -> None:
    lowered = pyc.jit(
        lambda a: (np.linalg.inv(a), np.linalg.cholesky(a), np.linalg.svd(a[:, :3])), device="cuda"
    ).lower(random("complex64", 2, 4, 4))
    decisions = "".join(f"{d.reason}: {d.details}\n" for d in lowered.decisions)
    golden(lowered.as_text("plan") + decisions)
    assert sum(d.reason is Reason.DEVICE_LIBRARY for d in lowered.decisions) == 4


@pytest.mark.usefixtures("device")
def test_its_steps_are_not_timed_one_by_one() -> None:
    lowered = pyc.jit(lambda a: np.linalg.inv(a), device="cuda").lower(np.eye(5))
    without: Any = SimpleNamespace(routines=False)
    assert "calls a library of the device" in why_not(lowered.plan, without)


def test_without_a_library_the_host_does_it_with_a_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    """Which names what to install."""
    interpreted_device.install(InterpretedDevice(SM_90), monkeypatch)
    found, why = plan_of(lambda a: np.linalg.inv(a), np.eye(5))
    assert found == ["lapack.dgetrf", "lapack.dgetri"]
    assert all("pip install 'pyc-jit[cuda-linalg]'" in text for text in why) and why


@pytest.mark.usefixtures("device")
def test_a_setting_keeps_the_bits_of_the_cpu(library: StandIn) -> None:
    a = random("float64", 8, 8)
    with config.using(device_linalg="host"):
        found, why = plan_of(lambda a: np.linalg.inv(a), a)
        assert found == ["lapack.dgetrf", "lapack.dgetri"] and why
        on_gpu = np.asarray(pyc.jit(lambda a: np.linalg.inv(a), device="cuda")(a))
    assert np.array_equal(on_gpu, pyc.jit(lambda a: np.linalg.inv(a))(a))
    assert not routines(library)


def test_older_libraries_lack_some(monkeypatch: pytest.MonkeyPatch) -> None:
    """Then matrices are taken one by one, or on the host."""
    library = StandIn(lacks=("cusolverDnXgeev", "cusolverDnXsyevBatched"))
    on = InterpretedDevice(SM_90)
    on.solver = Solver(on, library.address)
    interpreted_device.install(on, monkeypatch)
    assert plan_of(lambda a: np.linalg.eigvalsh(a), np.zeros((2, 6, 6)))[0] == ["solver.dsyevd"]
    found, why = plan_of(lambda a: np.linalg.eigvals(a), np.zeros((6, 6)))
    assert found == ["lapack.dgeev"] and "has no eigenvalues" in why[0]


def test_programs_without_linear_algebra_load_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Unasked(InterpretedDevice):
        solver = property(lambda self: pytest.fail("asked"), lambda self, value: None)

    interpreted_device.install(Unasked(SM_90), monkeypatch)
    pyc.jit(lambda a: a @ a, device="cuda")(np.eye(3))


def test_the_version_is_a_fact_of_the_program(device: InterpretedDevice) -> None:
    """Entries of the cache for another version, or for the host, are others. An entry fits where
    all of its own facts hold, so each program has it, if only to say that there is none."""
    given = pyc.jit(lambda a: np.linalg.inv(a), device="cuda")
    on: Any = device
    assert given.lower(np.eye(3)).target_facts["solver"] == "cuSOLVER 12000"
    assert compile_cuda.code_facts(on, compile_cuda.solving(on))["solver"] == "cuSOLVER 12000"
    with config.using(device_linalg="host"):
        assert given.lower(np.ones((3, 3))).target_facts["solver"] == ""
    assert pyc.jit(np.sin, device="cuda").lower(np.eye(3)).target_facts["solver"] == ""


# --- the libraries --------------------------------------------------------------------------------


def test_the_stand_in_has_the_same_parameters() -> None:
    """Both are written down from the libraries' reference, by hand: a slip shows."""
    letters = {ctypes.c_void_p: "p", ctypes.c_int32: "i", ctypes.c_int64: "l"}
    told = {name: types for name, (types, _) in _PLAIN.items()}
    told |= {name: types for name, (types, _) in _TYPED.items()}
    assert {n.replace("?", ""): s.replace(" ", "") for n, s in SIGNATURES.items()} == {
        name: "".join(letters[t] for t in types) for name, types in told.items()
    }


def test_every_routine_has_a_choice() -> None:
    assert routine_of("getrf", "d", 2, (8, 8), ()) == ("solver.dgetrf_batched", "")
    assert routine_of("syevd", "d", 2, (1, 0, 8), ()) == ("solver.dsyevd", "")
    assert routine_of("gesvdj", "z", 2, (2, 32, 8), ())[0] == "solver.zgesvdj_batched"
    assert routine_of("gesvdj", "z", 2, (1, 40, 8), ())[0] == "solver.zgesvdj"


def test_matrices_too_large_for_the_library_are_the_hosts() -> None:
    most = "the device's library takes matrices of up to 536870912 elements"
    assert routine_of("syevd", "d", 1, (1, 0, 23000), ())[1] == ""
    for name, sizes in {
        "syevd": (1, 0, 25000),
        "gesvdj": (2, 1024, 50000),
        "getrs": (20000, 30000),
        "orgqr": (30000, 1000, 1000, 30000),
    }.items():
        assert routine_of(name, "d", 1, sizes, ())[1] == most
    assert routine_of("gesvdj", "d", 1, (1, 1000000, 10), ())[1] == ""
    sizes = 0, 10, 3, 1000000, 1000000, 1000000, 10, 10
    assert routine_of("gemm", "d", 1, sizes, ())[1] == ""


@pytest.mark.usefixtures("device")
@pytest.mark.parametrize("function", [np.linalg.eigvalsh, np.linalg.svdvals])
def test_so_many_matrices_are_taken_in_portions(function: Any) -> None:
    a = definite(random("float32", 40000, 2, 2))
    (found,) = on_device(lambda a: function(a), a)
    assert close(found, function(a))


def test_the_extra_that_reasons_name_is_there() -> None:
    document = tomllib.loads((Path(pyc.__file__).parents[1] / "pyproject.toml").read_text())
    extras = document["project"]["optional-dependencies"]
    assert any("cusolver" in package for package in extras["cuda-linalg"])
    assert cusolver.EXTRA == "pip install 'pyc-jit[cuda-linalg]'"


class _Old:
    driver_version = 11080
    label = "cuda:0"
    stream = 0


class _New(_Old):
    driver_version = 13000


def test_an_old_driver_has_no_library() -> None:
    assert "before CUDA 12; pip install" in str(cusolver.found(_Old()))


def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(cusolver, "_places", list)
    monkeypatch.setattr(cusolver.ctypes, "CDLL", missing)
    found = cusolver.found(_New())
    assert found == (
        "libcublas.so.13 cannot be loaded: libcublas.so.13: cannot open shared object file; "
        "pip install 'pyc-jit[cuda-linalg]'"
    )


def test_wheels_go_before_what_the_loader_finds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    """Those that others need are loaded first, from wherever their wheel has put them."""
    for folder, name in (("cu13", "libcublas.so.13"), ("cusolver", "libcusolver.so.12")):
        (tmp_path / folder / "lib").mkdir(parents=True)
        (tmp_path / folder / "lib" / name).write_bytes(b"")
    loaded: list[str] = []
    library = StandIn()

    class Loaded:
        def __init__(self, path: str) -> None:
            loaded.append(path.removeprefix(str(tmp_path)))
            if not path.startswith(str(tmp_path)):
                raise OSError("not here")

        def __getattr__(self, name: str) -> Any:
            address = library.address(name)
            if not address:
                raise AttributeError(name)
            return ctypes.c_void_p(address)

    monkeypatch.setattr(cusolver, "_places", lambda: [str(tmp_path)])
    monkeypatch.setattr(cusolver.ctypes, "CDLL", Loaded)
    found = cusolver.found(_New())
    assert isinstance(found, Solver) and found.version == "cuSOLVER 12000"
    assert loaded == [
        "libnvJitLink.so.13",
        "libcublasLt.so.13",
        "/cu13/lib/libcublas.so.13",
        "libcusparse.so.12",
        "/cusolver/lib/libcusolver.so.12",
    ]
