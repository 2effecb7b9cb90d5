"""Eager work on `pyc.Array`: what NumPy code does with an array gives what NumPy gives, on the
device, with the bits of `pyc.numpy`."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pyc
import pyc.numpy as pnp
from pyc import eager_calls, reasons
from pyc.array import Array
from pyc.reasons import Reason
from pyc.runtime import dispatch
from tests.backends.interpreted_device import InterpretedDevice, install

X = np.array([[1.5, -2.0, 0.25], [4.0, 3.5, -0.25]], np.float32)
Y = np.array([0.5, 2.0, -1.0], np.float32)
I = np.array([[3, 1, 2], [7, 0, 5]], np.int32)  # noqa: E741
MASK = np.array([[True, False, True], [False, True, True]])


@pytest.fixture(params=["cpu", "cuda"])
def on(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The device of the arrays: "cuda" is an interpreted one."""
    install(InterpretedDevice(), monkeypatch)
    return str(request.param)


def as_numpy(x: Any, on: str | None = None) -> Any:
    """A result on the host. on: where every array of it must be."""
    if isinstance(x, (tuple, list)):
        return [as_numpy(v, on) for v in x]
    if on is not None:
        assert type(x) is Array and x.device == {"cuda": "cuda:0"}.get(on, on), type(x)
    return np.asarray(x)


def check(found: Any, expected: Any, on: str, exact: bool = True) -> None:
    """exact: the values are NumPy's own, else near them."""
    found, expected = as_numpy(found, on), as_numpy(expected)
    pairs = zip(found, expected, strict=True) if type(found) is list else [(found, expected)]
    for f, e in pairs:
        assert (f.dtype, f.shape) == (e.dtype, e.shape)
        if exact:
            np.testing.assert_array_equal(f, e)
        else:
            np.testing.assert_allclose(f, e, rtol=1e-5, atol=1e-6)


SAME: dict[str, Callable[[Any, Any, Any], Any]] = {
    "scalar": lambda x, y, i: 2.5 - x * 3 + x / np.float32(2),
    "rows": lambda x, y, i: x + y,
    "types": lambda x, y, i: (x + i, i / 2, i // 2, i % 3, i**2, i << 1, ~i, i & 3, -i),
    "comparison": lambda x, y, i: (x > 0, x == y, x >= 0, i != 3),
    "divmod": lambda x, y, i: divmod(i, 2),
    "reflected": lambda x, y, i: (1 - x, 2 // (i + 1), 2.0 / (x + 8), 3 % (i + 1)),
    "abs": lambda x, y, i: (abs(x), +x, -x),
    "numpy array left": lambda x, y, i: X * x,
    "numpy array right": lambda x, y, i: x - Y,
    "numpy scalar left": lambda x, y, i: np.float64(2) * x,
    "numpy comparison left": lambda x, y, i: np.float32(0) < x,
    "list": lambda x, y, i: x + [1, 2, 3],  # noqa: RUF005
    "functions": lambda x, y, i: (np.sqrt(abs(x)), np.maximum(x, 0), np.floor(x)),
    "where": lambda x, y, i: np.where(x > 0, x, y),
    "concatenate": lambda x, y, i: np.concatenate([x, X], axis=1),
    "stack": lambda x, y, i: np.stack([y, Y, y]),
    "like": lambda x, y, i: (np.zeros_like(x), np.full_like(x, 2.5), np.ones_like(i)),
    "triangle": lambda x, y, i: np.tril(x),
    "split": lambda x, y, i: np.split(x, 3, axis=1),
    "sort": lambda x, y, i: (np.sort(x), np.argsort(i, axis=1)),
    "clip": lambda x, y, i: np.clip(x, -0.5, 2.0),
    "power": lambda x, y, i: (x**2, x**3, abs(x) ** 0.5, np.power(x, -1)),
    "reduce": lambda x, y, i: (np.add.reduce(i), np.maximum.reduce(x, axis=1)),
    "accumulate": lambda x, y, i: np.add.accumulate(i, axis=1),
    "outer": lambda x, y, i: np.multiply.outer(y, y),
    "dtype of a ufunc": lambda x, y, i: np.add(i, 1, dtype=np.int64),
    "masked sum": lambda x, y, i: np.sum(i, where=I > 2, initial=1),
    "shapes": lambda x, y, i: (x.T, x.mT, x.reshape(3, -1), x.ravel(), x[None].squeeze()),
    "axes": lambda x, y, i: (x.transpose(1, 0), x.swapaxes(0, 1), np.moveaxis(x, 0, 1)),
    "methods": lambda x, y, i: (x.max(), x.min(axis=0), i.sum(axis=1), i.prod(), x.argmax()),
    "keepdims": lambda x, y, i: i.sum(axis=0, keepdims=True),
    "more methods": lambda x, y, i: (x.round(), x.clip(0, 1), i.cumsum(), x.repeat(2), x.copy()),
    "truth": lambda x, y, i: ((x > 0).any(), (x > 0).all(axis=1)),
    "types of elements": lambda x, y, i: (x.astype(np.float64), i.astype(bool), x.astype("i8")),
    "parts": lambda x, y, i: ((x + 1j).real, (x + 1j).imag, (x + 1j).conj()),
    "bits": lambda x, y, i: x.view(np.int32),
    "take": lambda x, y, i: (x.take([1, 0], axis=0), x.take(2), np.take_along_axis(i, i % 2, 1)),
    "integer": lambda x, y, i: (x[1], x[-1], x[1, 2], x[1][2]),
    "slices": lambda x, y, i: (x[:, 1:], x[::-1, ::2], x[..., 0], x[None, 1], x[0:0], x[:, -1]),
    "places": lambda x, y, i: (x[[1, 0]], x[:, np.array([2, 2])], x[[0, 1], [1, 2]], y[i % 3]),
    "places on the device": lambda x, y, i: x[:, (i % 3)[0]],
    "mixed index": lambda x, y, i: x[0, [1, 2]],
    "mask": lambda x, y, i: (x[MASK], x[:, MASK[0]], x[x > 0], x[x.sum(axis=1) > 1]),
    "masks and others": lambda x, y, i: (x[MASK[:, 0], 1:], x[..., MASK[1]], x[None, MASK]),
    "flags": lambda x, y, i: (x[True], x[False], x[..., x.sum() > 9], x[0, np.True_], y[0][True]),
    "an ellipsis of no axes": lambda x, y, i: x[None][:, [0, 1, 1], ..., [0, 1, 2]],
    "empty index": lambda x, y, i: x[[]],
    "counts": lambda x, y, i: (np.repeat(x, i[0] % 3, axis=1), *np.nonzero(i), np.unique(i)),
    "compress": lambda x, y, i: (np.compress([True, False], x, axis=0), np.extract(x > 1, x)),
    "products": lambda x, y, i: (i @ i.T, i.dot(i.T), np.einsum("ij,kj->ik", i, i)),
    "copies": lambda x, y, i: (np.copy(x), np.array(x)) if type(x) is np.ndarray else (+x, +x),
}  # fmt: skip
NEAR: dict[str, Callable[[Any, Any, Any], Any]] = {
    "exponentials": lambda x, y, i: (np.exp(x), np.sin(x), np.tanh(x), np.log(abs(x))),
    "means": lambda x, y, i: (x.mean(), x.std(axis=0), x.var(ddof=1), np.median(x)),
    "norm": lambda x, y, i: np.linalg.norm(x, axis=1),
    "product": lambda x, y, i: x @ y,
    "percentile": lambda x, y, i: np.percentile(x, 30.0).astype(np.float32),
    "power": lambda x, y, i: abs(x) ** 1.7,
}


def run(name: str, table: dict[str, Callable[[Any, Any, Any], Any]], on: str) -> Any:
    x, y, i = (pyc.device_put(v, on) for v in (X, Y, I))
    return table[name](x, y, i)


@pytest.mark.parametrize("name", SAME)
def test_numpy_code_gives_what_numpy_gives(name: str, on: str) -> None:
    check(run(name, SAME, on), SAME[name](X, Y, I), on)


@pytest.mark.parametrize("name", NEAR)
def test_functions_of_floats_are_near_numpys(name: str, on: str) -> None:
    check(run(name, NEAR, on), NEAR[name](X, Y, I), on, exact=False)


# --- the bits of pyc.numpy ------------------------------------------------------------------------

FUNCTIONS: dict[str, Callable[..., Any]] = {
    "add": operator.add,
    "multiply": operator.mul,
    "less": operator.lt,
    "sum": lambda x, y: pnp.sum(x, axis=-1),
    "max": lambda x, y: pnp.max(x, axis=0),
    "where": lambda x, y: pnp.where(x < y, x, y),
    "flip": lambda x, y: pnp.flip(x),
    "first": lambda x, y: x[0],
    "last": lambda x, y: x[..., -1],
    "every other": lambda x, y: x[::2],
    "set": lambda x, y: x.at[0].set(1) if type(x) is Array else pnp.asarray(_with_ones(x)),
    "sort": lambda x, y: pnp.sort(x, axis=-1),
}


def _with_ones(x: Any) -> Any:
    made = x.copy()
    made[0] = 1
    return made


@settings(
    max_examples=60,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
@given(
    st.sampled_from(sorted(FUNCTIONS)),
    st.lists(st.integers(1, 5), min_size=1, max_size=3),
    st.sampled_from([np.bool_, np.uint8, np.int32, np.int64, np.float16, np.float32, np.float64]),
    st.booleans(),
    st.randoms(use_true_random=False),
)
def test_shapes_and_types_give_the_bits_of_numpy_arguments(
    on: str, name: str, shape: list[int], dtype: Any, mixed: bool, random: Any
) -> None:
    numbers = [random.randint(0, 9) for _ in range(int(np.prod(shape)))]
    x = np.array(numbers).reshape(shape).astype(dtype)
    y = np.flip(x).copy()
    expected = FUNCTIONS[name](x, y) if name != "multiply" else pnp.multiply(x, y)
    here = pyc.device_put(x, on)
    found = FUNCTIONS[name](here, y if mixed else pyc.device_put(y, on))
    found = as_numpy(found, on)
    expected = np.asarray(expected)
    assert (found.dtype, found.shape) == (expected.dtype, expected.shape)
    assert found.tobytes() == expected.tobytes()


@pytest.mark.parametrize("function", [np.exp, np.tanh, np.log1p, lambda x: x**1.7, np.mean])
def test_the_bits_are_those_under_jit_and_of_numpy_arguments(function: Any, on: str) -> None:
    x = np.linspace(0.1, 5, 40, dtype=np.float32)
    here = pyc.device_put(x, on)
    found = np.asarray(function(here))
    assert found.tobytes() == np.asarray(pyc.jit(function)(x)).tobytes()
    assert found.tobytes() == np.asarray(pyc.jit(function)(here)).tobytes()


# --- one program a call ---------------------------------------------------------------------------


def test_a_call_is_one_program_and_integers_of_an_index_are_arguments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    device = InterpretedDevice()
    install(device, monkeypatch)
    x = pyc.device_put(X, "cuda")
    before = device.launched
    y = x + 1.5
    assert device.launched == before + 1, "the number is not spread out first"
    y = x + 2.5
    assert eager_calls._compiled.cache_info().misses == 1 and y.tolist() == (X + 2.5).tolist()
    table = pyc.device_put(np.arange(20.0).reshape(2, 10), "cuda")
    assert [r.tolist() for r in table] == np.arange(20.0).reshape(2, 10).tolist()
    assert eager_calls._compiled.cache_info().misses == 1, "rows are copied"
    columns = [table[:, k].tolist() for k in range(10)]
    assert eager_calls._compiled.cache_info().misses == 2
    assert columns == np.arange(20.0).reshape(2, 10).T.tolist()
    pyc.clear_caches()
    assert eager_calls._compiled.cache_info().currsize == 0 and not eager_calls._quick


def test_nothing_is_computed_where_nothing_is_to_be(on: str) -> None:
    x = pyc.device_put(X, on)
    assert pnp.asarray(x) is x and pnp.asarray(x, np.float32) is x and x.real is x
    y = x.copy()
    assert y is not x and y.address != x.address and y.tolist() == x.tolist()


def test_numbers_that_are_equal_but_not_the_same_have_their_own_programs(on: str) -> None:
    x = pyc.device_put(np.array([2.0, -2.0]), on)
    assert np.asarray(x * 0.0).tobytes() != np.asarray(x * -0.0).tobytes()
    assert (pnp.sum(x[None], axis=0)).shape != pnp.sum(x[None], axis=1).shape
    assert (x**True).tolist() == (np.asarray(x) ** True).tolist()
    assert (x ** (-1)).tolist() == [0.5, -0.5] and (x ** (-1.0)).tolist() == [0.5, -0.5]


def test_copies_of_elements_to_the_host_have_their_reason(on: str) -> None:
    x = pyc.device_put(X, on)
    with reasons.collecting() as found:
        x + 1, x[0], x.sum(), np.where(x > 0, x, 0), x.at[x > 0].set(0), x[MASK]
    assert not {e.reason for e in found} & {Reason.DEVICE_VALUES_NEEDED, Reason.FALLBACK_HOST}
    for work in (
        lambda: x[x > 0],
        lambda: np.nonzero(x),
        lambda: np.repeat(x[0], (x[0] > 0).astype(int)),
    ):
        with reasons.collecting() as found:
            work()
        events = [e for e in found if e.reason is Reason.DEVICE_VALUES_NEEDED]
        assert events and all(e.details["nbytes"] for e in events)


def test_a_failure_is_at_the_line_of_its_own_call(on: str) -> None:
    """The program is shared by all lines that call it."""
    x, far = pyc.device_put(X, on), np.array([5])
    assert x[np.array([1])].tolist() == X[[1]].tolist()
    with pytest.raises(IndexError) as first:
        x[far]  # this line
    with pytest.raises(IndexError) as second:
        x[far] + 0  # that line
    assert "this line" in str(first.value) and "that line" in str(second.value)


# --- changes --------------------------------------------------------------------------------------

CHANGES: dict[str, tuple[Callable[[Any], Any], Callable[[Any], Any]]] = {
    "element": (lambda x: x.at[0, 1].set(9), lambda x: x.__setitem__((0, 1), 9)),
    "row": (lambda x: x.at[1].set([7, 8, 9]), lambda x: x.__setitem__(1, [7, 8, 9])),
    "slice": (lambda x: x.at[:, 1:].add(1), lambda x: x[:, 1:].__iadd__(1)),
    "places": (lambda x: x.at[[0, 0]].add(Y), lambda x: np.add.at(x, [0, 0], Y)),
    "product": (lambda x: x.at[[1, 1]].multiply(2), lambda x: np.multiply.at(x, [1, 1], 2)),
    "least": (lambda x: x.at[:, 0].min(0), lambda x: np.minimum.at(x, (slice(None), 0), 0)),
    "greatest": (lambda x: x.at[0].max(Y), lambda x: np.maximum.at(x, 0, Y)),
    "mask": (lambda x: x.at[x > 0].set(0), lambda x: x.__setitem__(x > 0, 0)),
    "flag": (lambda x: x.at[:, x.sum() > 9].add(1), lambda x: x[:, x.sum() > 9].__iadd__(1)),
    "flag that is true": (lambda x: x.at[True].set(Y), lambda x: x.__setitem__(True, Y)),
    "mask and values": (
        lambda x: x.at[MASK].set(np.arange(4)),
        lambda x: x.__setitem__(MASK, np.arange(4)),
    ),
    "function": (
        lambda x: x.at[1].apply(lambda v: v * v + Y),
        lambda x: x.__setitem__(1, x[1] * x[1] + Y),
    ),
    "dropped": (lambda x: x.at[7].set(1, mode="drop"), lambda x: None),
    "clipped": (lambda x: x.at[7].set(1, mode="clip"), lambda x: x.__setitem__(1, 1)),
}  # fmt: skip


@pytest.mark.parametrize("name", CHANGES)
def test_at_gives_a_changed_array(name: str, on: str) -> None:
    x, expected = pyc.device_put(X, on), X.copy()
    changed, in_place = CHANGES[name]
    in_place(expected)
    check(changed(x), expected, on)
    assert x.tolist() == X.tolist(), "the array itself stays as it is"


def test_at_reads_with_a_mode(on: str) -> None:
    x = pyc.device_put(X, on)
    assert x.at[9].get(mode="clip").tolist() == X[1].tolist()
    assert x.at[9].get(mode="fill", fill_value=3).tolist() == [3, 3, 3]
    with pytest.raises(IndexError):
        x.at[9].get()


def test_an_augmented_assignment_makes_a_new_array(on: str) -> None:
    x = y = pyc.device_put(X, on)
    y += 1
    assert y is not x and x.tolist() == X.tolist() and y.tolist() == (X + 1).tolist()


def test_a_function_of_apply_is_called_each_time(on: str) -> None:
    x, add = pyc.device_put(X, on), 1.0
    assert x.at[0].apply(lambda v: v + add).tolist()[0] == (X[0] + 1).tolist()
    add = 2.0
    assert x.at[0].apply(lambda v: v + add).tolist()[0] == (X[0] + 2).tolist()


# --- Python ---------------------------------------------------------------------------------------


def test_python_sees_an_array(on: str) -> None:
    x = pyc.device_put(X, on)
    assert len(x) == 2 and len(list(x)) == 2 and 4.0 in x and 5.0 not in x
    assert f"{x[0, 0]:.2f}" == "1.50" and round(x[0, 0]) == 2 and round(x).shape == (2, 3)
    assert str(x) == str(X) and x.itemsize == 4 and x.flat[4] == 3.5
    assert x.item(1) == -2.0 and x.tobytes() == X.tobytes()
    assert [k for k, v in enumerate(x[0] > 0) if v] == [0, 2]
    assert max(x[0]).item() == 1.5 and sum(x[0]).item() == X[0].sum()
    with pytest.raises(TypeError, match="rank 0"):
        iter(x[0, 0])
    with pytest.raises(AttributeError):
        x.nothing  # noqa: B018
    assert x.__array_namespace__() is pnp


def test_facts_need_no_program(on: str) -> None:
    x = pyc.device_put(X, on)
    assert (np.shape(x), np.ndim(x), np.size(x)) == ((2, 3), 2, 6)
    assert np.iscomplexobj(x) is False and pnp.result_type(x, 1.0) == np.float32


def test_lax_runs_on_the_device(on: str) -> None:
    x = pyc.device_put(X, on)
    found = pyc.lax.fori_loop(0, 3, lambda i, a: a * 2, x)
    check(found, X * 8, on)
    check(pyc.lax.cond(True, lambda a: a + 1, lambda a: a, x), X + 1, on)


def test_bodies_of_lax_read_arrays_around_them(on: str) -> None:
    x, y = pyc.device_put(X, on), pyc.device_put(Y, on)
    found = pyc.lax.scan(lambda s, row: (s + y * row, (s * x).sum()), np.zeros(3, np.float32), x)
    expected = pyc.lax.scan(lambda s, row: (s + Y * row, (s * X).sum()), np.zeros_like(Y), X)
    check(found, expected, on)
    inner = pyc.lax.fori_loop(0, 3, lambda i, s: pyc.lax.cond(i > 1, lambda: s + y, lambda: s), y)
    check(inner, Y * 2, on)


def test_results_of_jitted_functions_are_where_their_arguments_are(on: str) -> None:
    x = pyc.device_put(X, on)
    f = pyc.jit(lambda a, b: {"sum": a + b, "first": a[0, 0]})
    for _ in range(3):
        found = f(x, Y)
        check(found["sum"], X + Y, on)
        check(found["first"], X[0, 0], on)
    assert type(f(X, Y)["sum"]) is np.ndarray
    again = f(found["sum"], 1.0)
    check(again["sum"], X + Y + 1, on)


def test_captured_arrays_are_read_where_they_are(on: str) -> None:
    w = pyc.device_put(Y, on)
    f = pyc.jit(lambda a: a * w)
    for _ in range(3):
        check(f(pyc.device_put(X, on)), X * Y, on)
        check(f(X), X * Y, on)


def test_a_function_of_the_gpu_takes_what_it_captures_on_the_cpu(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    install(InterpretedDevice(), monkeypatch)
    w = pyc.device_put(Y, "cpu")
    check(pyc.jit(lambda a: a * w)(pyc.device_put(X, "cuda")), X * Y, "cuda")


def test_two_devices_are_refused_in_every_way(monkeypatch: pytest.MonkeyPatch) -> None:
    install(InterpretedDevice(), monkeypatch)
    here, there = pyc.device_put(X, "cpu"), pyc.device_put(X, "cuda")
    ways: list[Callable[[], Any]] = [
        lambda: here + there,
        lambda: np.concatenate([there, here]),
        lambda: pnp.where(here > 0, there, 0),
        lambda: pyc.jit(lambda a, b: a + b)(here, there),
        lambda: pyc.jit(lambda a: a + 1, device="cuda")(here),
        lambda: pyc.lax.cond(True, lambda a, b: a, lambda a, b: b, here, there),
        lambda: here.at[0].set(there[0]),
    ]
    for way in ways:
        with pytest.raises(pyc.errors.DeviceError, match="to_device"):
            way()
    assert (here + there.to_device("cpu")).device == "cpu"


def test_a_donated_array_on_the_cpu_is_gone() -> None:
    f = pyc.jit(lambda a: a + 1, donate_argnums=0)
    x = pyc.device_put(X, "cpu")
    kept = np.asarray(x)
    y = f(x)
    assert x.is_deleted() and y.tolist() == (X + 1).tolist()
    assert kept.tolist() == X.tolist(), "a view that was taken before keeps its elements"
    with pytest.raises(pyc.errors.DonationError):
        x + 1


def plain(*values: Any) -> list[Any]:
    """NumPy's arrays for `Array`s, floats as they are."""
    return [v if type(v) is float else np.asarray(v) for v in values]


def test_operations_on_a_gpu_are_called_natively(monkeypatch: pytest.MonkeyPatch) -> None:
    """From the second call on nothing of Python runs between the call and the launch, floats
    included, whose values are not those of the first call."""
    device = InterpretedDevice()
    install(device, monkeypatch)
    x, y = (pyc.device_put(v, "cuda") for v in (X, X + 1))
    for function, arguments in [
        (pnp.add, [(x, y), (y, x), (x, x)]),
        (pnp.multiply, [(x, 2.5), (y, -1.0), (x, 0.5)]),
        (pnp.maximum, [(0.25, x), (3.0, y), (-1.0, x)]),
    ]:
        for pair in arguments:
            check(function(*pair), function(*plain(*pair)), "cuda")
        (quick,) = [q for key, q in eager_calls._quick.items() if key[0] is function]
        assert isinstance(quick.run, dispatch.Dispatcher)
        (made,) = dispatch.specialisations(quick.run)
        assert dispatch.native_calls(quick.run, made) == 2
    assert device.refusal is None


def test_numbers_by_name_are_values_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy hands `np.clip(x, -1.0, 1.0)` on as `clip(x, a_min=-1.0, a_max=1.0)`."""
    install(InterpretedDevice(), monkeypatch)
    x = pyc.device_put(X, "cuda")
    for low, high in [(-1.0, 1.0), (0.25, 3.5), (-2.5, -0.5)]:
        check(np.clip(x, low, high), np.clip(X, low, high), "cuda")
        check(np.clip(x, a_min=low, a_max=high), np.clip(X, low, high), "cuda")
        check(np.clip(x, None, high), np.clip(X, None, high), "cuda")
        check(np.clip(a_max=high, a=x, a_min=x), np.clip(X, X, high), "cuda")
    for key, quick in eager_calls._quick.items():
        if key[0] is pnp.clip:
            (made,) = dispatch.specialisations(quick.run)
            assert dispatch.native_calls(quick.run, made) >= 2
    forms = [key[1:] for key in eager_calls._quick if key[0] is pnp.clip]
    assert len(forms) == 4


def test_zeros_of_other_signs_by_name_are_other_numbers() -> None:
    """Of functions whose program depends on a number, as powers do."""
    x = pyc.device_put(np.array([0.5, 2.0]), "cpu")
    for exponent in (2.0, -0.0, 0.0, 0.5, 2.0):
        check(pnp.power(x, y=exponent), np.power([0.5, 2.0], exponent), "cpu")


def test_operations_on_a_gpu_with_checks_are_native(monkeypatch: pytest.MonkeyPatch) -> None:
    install(InterpretedDevice(), monkeypatch)
    reasons.clear()
    x = pyc.device_put(I, "cuda")
    for _ in range(2):
        check(pnp.take(x, np.array([0, 1]), axis=0), I, "cuda")
    assert Reason.DISPATCH_SLOW_DEVICE not in reasons.counts()
    n = pyc.device_put(np.arange(3), "cuda")
    for _ in range(3):
        check(pnp.take(n, n), np.arange(3), "cuda")
        with pytest.raises(IndexError, match="index 3 is out of bounds"):
            pnp.take(n, n + 1)
    assert Reason.DISPATCH_SLOW_DEVICE not in reasons.counts()


@pytest.mark.parametrize(
    "key",
    [
        *(0, -1, (1,), (1, 2), (0, -3), slice(1, 2), slice(None), slice(-1, None)),
        *((1, slice(1, 3)), (0, slice(None)), (slice(0, 1), slice(None)), slice(2, 1)),
        *(slice(0, 99), (1, slice(None, 2))),
    ],
)
def test_parts_that_lie_side_by_side_need_no_program(on: str, key: Any) -> None:
    x = pyc.device_put(X, on)
    check(x[key], X[key], on)
    check(x[key] + 1.5, X[key] + np.float32(1.5), on)


@pytest.mark.parametrize("key", [2, -3, (0, 3), (0, 0, 0), (slice(None), 5)])
def test_places_out_of_range_are_refused(on: str, key: Any) -> None:
    with pytest.raises(IndexError, match=r"index|indices"):
        pyc.device_put(X, on)[key]


def test_a_part_outlives_its_array(on: str) -> None:
    x = pyc.device_put(X, on)
    part = x[1]
    del x
    pyc.device_put(X + 9, on)
    check(part, X[1], on)


def test_floats_that_are_part_of_a_form_are_told_apart(on: str) -> None:
    """Exponents, bounds: zeros of both signs and NaNs too."""
    x = pyc.device_put(X, on)
    for _ in range(2):
        for low, high in [(-1.0, 1.0), (0.0, 1.0), (-0.0, 1.0), (-1.0, 2.0), (float("nan"), 1.0)]:
            found, wanted = as_numpy(np.clip(x, low, high), on), np.clip(X, low, high)
            np.testing.assert_array_equal(found, wanted)
        for exponent in (2.0, 0.5, 3.0, -1.0):
            with np.errstate(invalid="ignore"):
                check(x**exponent, X**exponent, on, exact=False)
