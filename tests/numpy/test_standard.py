"""What the Python array API standard asks of `pyc.numpy` beside values: arguments, types, answers.

The public suite checks all of it (`python -m tests.conformance`); these are the rules behind.
"""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc.errors import ArgumentError, AxisError, DeviceError, DTypeError, UnsupportedOpError
from tests.conformance import install
from tests.conformance.__main__ import expected, results
from tests.conformance.jitted import calls, xp

MAKERS: dict[str, Callable[..., Any]] = {
    "arange": lambda **o: pnp.arange(3, **o),
    "asarray": lambda **o: pnp.asarray([1, 2], **o),
    "empty": lambda **o: pnp.empty(2, **o),
    "empty_like": lambda **o: pnp.empty_like(np.ones(2), **o),
    "eye": lambda **o: pnp.eye(2, **o),
    "full": lambda **o: pnp.full(2, 3, **o),
    "full_like": lambda **o: pnp.full_like(np.ones(2), 3, **o),
    "linspace": lambda **o: pnp.linspace(0, 1, 3, **o),
    "ones": lambda **o: pnp.ones(2, **o),
    "ones_like": lambda **o: pnp.ones_like(np.ones(2), **o),
    "zeros": lambda **o: pnp.zeros(2, **o),
    "zeros_like": lambda **o: pnp.zeros_like(np.ones(2), **o),
    "fft.fftfreq": lambda **o: pnp.fft.fftfreq(3, **o),
    "fft.rfftfreq": lambda **o: pnp.fft.rfftfreq(3, **o),
    "astype": lambda **o: pnp.astype(np.ones(2), np.float32, **o),
}


@pytest.mark.parametrize("name", MAKERS)
def test_functions_that_make_arrays_take_a_device(name: str) -> None:
    """The CPU's are NumPy's; a device that is not there is named; a program runs on one device."""
    make = MAKERS[name]
    function = operator.attrgetter(name)(pnp)
    parameter = inspect.signature(function).parameters["device"]
    assert parameter.kind is parameter.KEYWORD_ONLY and parameter.default is None
    for device in (None, "cpu", pyc.devices("cpu")[0]):
        assert type(make(device=device)) is np.ndarray
    with pytest.raises(DeviceError, match="tpu"):
        make(device="tpu")
    with pytest.raises(UnsupportedOpError, match="`device` in a traced function"):
        pyc.jit(lambda x: x + make(device="cpu")[0])(1.0)


def test_arrays_like_those_of_a_device_are_there_unless_another_is_named() -> None:
    x = pyc.device_put(np.ones(2), "cpu")
    assert type(pnp.zeros_like(x)) is pyc.Array
    assert type(pnp.zeros_like(x, device="cpu")) is pyc.Array
    assert type(pnp.astype(x, np.int8, device="cpu")) is pyc.Array


@pytest.mark.parametrize(
    "make",
    [
        lambda: pnp.asarray(1.5),
        lambda: pnp.array(2),
        lambda: pnp.zeros(()),
        lambda: pnp.full_like(np.float32(3), 2),
        lambda: pnp.reshape(np.ones(1), ()),
        lambda: pnp.squeeze(np.ones((1, 1))),
        lambda: pnp.broadcast_to(3, ()),
    ],
)
def test_arrays_of_rank_zero_are_arrays_where_numpy_gives_arrays(make: Any) -> None:
    found = make()
    assert type(found) is np.ndarray and found.shape == () and found.flags.writeable
    assert np.isscalar(pnp.sum(np.ones(3))) and np.isscalar(pnp.add(found, 1))


def test_a_copy_is_made_where_it_is_asked_for() -> None:
    x = np.arange(6.0)
    assert pnp.asarray(x, copy=False) is x and pnp.asarray(x) is x
    assert not np.shares_memory(pnp.asarray(x, copy=True), x)
    assert np.shares_memory(pnp.reshape(x, (2, 3), copy=False), x)
    assert not np.shares_memory(pnp.reshape(x, (2, 3), copy=True), x)
    for refused in (
        lambda: pnp.asarray([1], copy=False),
        lambda: pnp.asarray(x, np.float32, copy=False),
        lambda: pnp.reshape(x.reshape(2, 3).T, 6, copy=False),
    ):
        with pytest.raises(ArgumentError, match="copy=False"):
            refused()
    with pytest.raises(ValueError):
        np.asarray([1], copy=False)


def test_a_copy_inside_jit_is_an_array_of_its_own() -> None:
    def changed(x: Any) -> Any:
        y = pnp.asarray(x, copy=True)
        z = pnp.reshape(y, (2, 3), copy=True)
        z[0, 0] = 9
        y[5] = 7
        return x, y, z

    x = np.arange(6.0)
    for a, b in zip(changed(x), pyc.jit(changed)(x), strict=True):
        assert a.tolist() == b.tolist()
    assert x[0] == 0


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "complex64", "complex128"])
def test_limits_are_numbers_of_python(dtype: str) -> None:
    """Of a dtype, of its scalar type, and of an array."""
    theirs = np.finfo(dtype)
    for asked in (dtype, np.dtype(dtype), np.dtype(dtype).type, np.ones(2, dtype)):
        found = pnp.finfo(asked)
        for name in ("eps", "max", "min", "smallest_normal", "tiny", "resolution", "epsneg"):
            assert type(getattr(found, name)) is float
            assert getattr(found, name) == float(getattr(theirs, name))
        assert found.bits == theirs.bits and found.dtype == theirs.dtype
    assert repr(found) == repr(theirs)
    assert pnp.finfo(pnp.bfloat16).bits == 16 and type(pnp.finfo(pnp.bfloat16).eps) is float
    assert pnp.iinfo(np.ones(2, np.int8)).max == 127
    with pytest.raises(DTypeError):
        pnp.finfo("text")


@pytest.mark.parametrize(
    "call",
    [
        lambda p, x: p.sum(x, axis=2),
        lambda p, x: p.expand_dims(x, axis=5),
        lambda p, x: p.flip(x, axis=-3),
        lambda p, x: p.concat([x, x], axis=2),
    ],
)
def test_an_axis_that_is_not_there_is_numpys_error(call: Any) -> None:
    x = np.ones((2, 3))
    with pytest.raises(np.exceptions.AxisError):
        call(np, x)
    for run in (lambda: call(pnp, x), lambda: pyc.jit(lambda v: call(pnp, v))(x)):
        with pytest.raises(AxisError) as found:
            run()
        assert isinstance(found.value, IndexError) and isinstance(found.value, ValueError)


def test_a_diagonal_may_lie_anywhere() -> None:
    for k in (2**63, -(2**63) - 1, 5, -5, 1):
        inside = max(-3, min(k, 4))
        assert pnp.eye(3, 4, k=k).tolist() == np.eye(3, 4, inside).tolist()
        x = np.arange(12.0).reshape(3, 4)
        assert pnp.tril(x, k=k).tolist() == np.tril(x, inside).tolist()
        assert pnp.triu(x, k=k).tolist() == np.triu(x, inside).tolist()


def test_the_namespace_answers_for_itself() -> None:
    info = pnp.__array_namespace_info__()
    assert pnp.__array_api_version__ == "2025.12"
    assert pyc.device_put(np.ones(1), "cpu").__array_namespace__() is pnp
    assert info.default_device() == "cpu" in info.devices()
    assert {str(d) for d in info.devices()} <= {"cpu", *map(str, pyc.devices("cuda"))}
    assert info.default_dtypes(device="cpu")["integral"] == np.int64
    assert set(info.dtypes(kind=("bool", "unsigned integer"))) == {
        *("bool", "uint8", "uint16", "uint32", "uint64")
    }
    assert "float16" not in info.dtypes() and info.dtypes()["complex64"] == np.complex64
    with pytest.raises(DeviceError):
        info.dtypes(device="tpu")
    with pytest.raises(DTypeError):
        info.dtypes(kind="numeral")


def test_shapes_depend_on_data_outside_of_a_trace_only() -> None:
    def ask(x: Any) -> Any:
        found = pnp.__array_namespace_info__().capabilities()
        may = (found["boolean indexing"], found["data-dependent shapes"])
        return x * np.array([*may, found["max dimensions"] == 64])

    assert ask(np.ones(3)).tolist() == [1, 1, 1]
    assert pyc.jit(ask)(np.ones(3)).tolist() == [0, 0, 1]


# --- what runs the public suite -------------------------------------------------------------------


def test_the_namespace_of_jitted_functions_gives_what_the_plain_one_does() -> None:
    x = np.arange(6.0).reshape(2, 3)
    before = calls["jitted"]
    assert xp.sum(x, axis=0).tolist() == [3, 5, 7]
    assert xp.concat([x, x], axis=1).shape == (2, 6)
    assert xp.where(x > 2, x, np.float64(0)).tolist() == np.where(x > 2, x, 0).tolist()
    assert xp.zeros(3).tolist() == [0, 0, 0] and xp.asarray(2).shape == ()
    assert calls["jitted"] == before + 5
    assert xp.unique_values(np.array([2, 1, 2])).tolist() == [1, 2]
    assert xp.zeros(2, device="cpu").tolist() == [0, 0]
    assert xp.fft.fft is not pnp.fft.fft and xp.float32 is pnp.float32


@pytest.mark.parametrize("kind", ["f2", "f4", "f8"])
def test_floor_division_with_infinities_is_numpys_not_the_standards(kind: str) -> None:
    """Those six rules are all that the suite is expected to find, each by three names."""
    inf = np.inf
    x = np.array([-3, 3, inf, inf, -inf, -inf], kind)
    y = np.array([inf, -inf, -2, 2, -2, 2], kind)
    standard = [-0.0, -0.0, -inf, inf, inf, -inf]
    with np.errstate(invalid="ignore"):
        numpys = x // y
    assert not any(a == b for a, b in zip(numpys, standard, strict=True))
    for found in (pnp.floor_divide(x, y), pyc.jit(operator.floordiv)(x, y)):
        np.testing.assert_array_equal(found, numpys)
    assert len(expected("")) == 3 * len(standard)
    assert all("floor" in name and "infinity" in name for name in expected(""))


def test_another_suite_is_not_run(tmp_path: Path) -> None:
    with pytest.raises(install.SuiteMissing, match="no suite in"):
        install.check(tmp_path)
    (tmp_path / "conftest.py").write_text("import sys\n")
    with pytest.raises(install.SuiteMissing, match=r"has the SHA-256 sum \w{64}, not"):
        install.check(tmp_path)
    (tmp_path / "array_api_tests").mkdir()
    first = install.digest(tmp_path)
    (tmp_path / "array_api_tests" / "test_more.py").write_text("")
    assert install.digest(tmp_path) != first


def test_results_are_read_from_what_pytest_prints() -> None:
    text = (
        "PASSED array_api_tests/test_a.py::test_b[x - y]\n"
        "FAILED array_api_tests/test_a.py::test_c[1] - AssertionError: no - yes\n"
        "FAILED array_api_tests/test_a.py::test_d[x_i -> \\u03c0]\n"
        "ERROR array_api_tests/test_e.py\n1 passed in 2 s"
    )
    found = results(text)
    assert found["PASSED"] == {"array_api_tests/test_a.py::test_b[x - y]"}
    assert found["FAILED"] == {
        "array_api_tests/test_a.py::test_c[1]",
        "array_api_tests/test_a.py::test_d[x_i -> \u03c0]",
    }
    assert found["ERROR"] == {"array_api_tests/test_e.py"}
    listed = expected("")
    assert len(listed) == 18 and all("floor" in name for name in listed)
    assert len(expected("cpu") - listed) == 3 and len(expected("cuda") - expected("cpu")) == 1
    assert sys.version_info >= (3, 11)
