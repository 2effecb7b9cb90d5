"""`pyc.numpy.fft` against `numpy.fft`: lengths, types, axes, norms, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import pyc
import pyc.numpy as pnp
from pyc import config
from pyc.errors import ArgumentError
from tests.programs.differential import same_bits

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]

REAL = (np.float32, np.float64)
COMPLEX = (np.complex64, np.complex128)


def numbers(shape: tuple[int, ...], dtype: Any) -> Array:
    rng = np.random.default_rng(sum(shape))
    x = 4 * rng.standard_normal(shape)
    if np.dtype(dtype).kind == "c":
        x = x + 4j * rng.standard_normal(shape)
    return np.asarray(x).astype(dtype)


def compare(found: Any, expected: Any, most: float = 8.0) -> None:
    """Equal in shape and type, and in value within so many roundings of the whole."""
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype and found.shape == expected.shape
    if found.size:
        off = np.linalg.norm((found - expected).ravel())
        size = np.linalg.norm(expected.ravel()) + np.finfo(found.dtype).tiny
        assert off <= most * np.finfo(found.dtype).eps * size


def check(function: Function, *args: Any, most: float = 8.0) -> None:
    compare(pyc.jit(function)(*args), function(*args), most)


LENGTHS = (1, 2, 3, 4, 7, 8, 15, 17, 34, 60, 64, 101, 128, 1000, 1009)


@pytest.mark.parametrize("n", LENGTHS)
def test_lengths(n: int) -> None:
    def transforms(x: Any, z: Any) -> Any:
        f = np.fft
        return (
            *(f.fft(x), f.fft(z), f.ifft(x), f.ifft(z), f.rfft(x), f.irfft(z, n), f.irfft(x, n)),
            *(f.hfft(z, n), f.ihfft(x)),
        )

    for real, complex_ in zip(REAL, COMPLEX, strict=True):
        args = numbers((2, n), real), numbers((2, n), complex_)
        expected = transforms(*args)
        for found, wanted in zip(pyc.jit(transforms)(*args), expected, strict=True):
            compare(found, wanted)


@pytest.mark.parametrize("n", [4099, 8192, 10_006, 16_386, 65_536])
def test_long_lines(n: int) -> None:
    check(np.fft.fft, numbers((n,), np.complex128))
    check(np.fft.rfft, numbers((n, 2), np.float32)[:, 0])
    check(lambda z: np.fft.irfft(z, n), numbers((n // 2 + 1,), np.complex128))
    if n < 9000:
        check(lambda x: np.fft.rfft(x, axis=0), numbers((n, 3), np.float64))
        check(lambda z: np.fft.irfft(z, n, axis=0), numbers((n // 2 + 1, 2), np.complex64))


@pytest.mark.parametrize("name", ["fft", "ifft", "rfft", "irfft", "hfft", "ihfft"])
@pytest.mark.parametrize("norm", [None, "backward", "ortho", "forward"])
def test_lengths_and_norms(name: str, norm: Any) -> None:
    function = getattr(np.fft, name)
    dtype = np.float64 if name in ("rfft", "ihfft") else np.complex128
    x = numbers((3, 12, 2), dtype)
    for n in (None, 1, 5, 12, 20):
        for axis in (0, 1, -1) if n == 5 else (1,):
            check(lambda x, n=n, axis=axis: function(x, n=n, axis=axis, norm=norm), x)


SEVERAL: tuple[tuple[Any, Any], ...] = (
    (None, None),
    (None, (0, 2)),
    (None, (2, 0)),
    ((4, 7), None),
    ((4, 7), (1, -1)),
    ((-1, 5), (1, 2)),
    ((3,), (0,)),
    (None, (1, 1)),
)


@pytest.mark.parametrize("name", ["fftn", "ifftn", "rfftn", "irfftn"])
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_several_axes(name: str) -> None:
    function = getattr(np.fft, name)
    x = numbers((3, 4, 6), np.float32 if name == "rfftn" else np.complex64)
    for s, axes in SEVERAL:
        for norm in (None, "ortho"):
            check(lambda x, s=s, axes=axes, norm=norm: function(x, s, axes, norm), x)


@pytest.mark.parametrize("name", ["fft2", "ifft2", "rfft2", "irfft2"])
def test_two_axes(name: str) -> None:
    function = getattr(np.fft, name)
    x = numbers((2, 6, 9), np.float64 if name == "rfft2" else np.complex128)
    check(function, x)
    check(lambda x: function(x, s=(4, 5), axes=(0, 2), norm="forward"), x)


def test_types() -> None:
    """NumPy's, but for the half results that it makes of half numbers on the way back."""
    for kind in ("?", "b", "u2", "i8", "f2", "f4", "f8", "F", "D"):
        x = numbers((6,), np.float64).astype(kind)
        for name in ("fft", "ifft", "rfft", "irfft", "fftn"):
            if kind in "FD" and name == "rfft":
                continue
            expected = getattr(np.fft, name)(x)
            found = pyc.jit(getattr(np.fft, name))(x)
            assert found.dtype == expected.dtype or (kind, name) == ("f2", "irfft")
            np.testing.assert_allclose(found, expected, rtol=2e-3, atol=2e-3)


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_frequencies(n: int) -> None:
    for d in (1.0, 0.25, 3):
        for name in ("fftfreq", "rfftfreq"):
            wanted = getattr(np.fft, name)(n, d)
            np.testing.assert_array_equal(np.asarray(getattr(pnp.fft, name)(n, d=d)), wanted)
            traced = pyc.jit(lambda x, name=name: getattr(np.fft, name)(n, x))(float(d))
            np.testing.assert_allclose(traced, wanted, rtol=1e-15)
            assert getattr(pnp.fft, name)(n, d=d, dtype=np.float32).dtype == np.float32


@pytest.mark.parametrize("name", ["fft", "rfft", "ihfft", "irfft", "rfftn", "rfft2", "fft2"])
def test_lists_are_transformed(name: str) -> None:
    """As NumPy takes them, outside of a trace too."""
    x = [[1, 2, 5], [3, 4, 7]]
    np.testing.assert_allclose(
        np.asarray(getattr(pnp.fft, name)(x)), getattr(np.fft, name)(x), atol=1e-14
    )


@pytest.mark.parametrize("n", [0, -1])
def test_no_samples_have_no_frequencies(n: int) -> None:
    """NumPy divides by zero, or refuses a negative length."""
    for name in ("fftfreq", "rfftfreq"):
        with pytest.raises(ArgumentError, match="1 or more"):
            getattr(pnp.fft, name)(n)


def test_shifts() -> None:
    x = numbers((4, 5, 2), np.float32)
    for axes in (None, 1, (0, 2), (-1,)):
        for name in ("fftshift", "ifftshift"):
            function = getattr(np.fft, name)
            found = pyc.jit(lambda x, f=function, axes=axes: f(x, axes))(x)
            np.testing.assert_array_equal(found, function(x, axes))


def test_no_lines_and_other_layouts() -> None:
    for shape, axis in (((0, 8), 1), ((8, 0), 0), ((0, 17), 1)):
        check(lambda x, axis=axis: np.fft.fft(x, axis=axis), numbers(shape, np.complex64))
        check(lambda x, axis=axis: np.fft.rfft(x, axis=axis), numbers(shape, np.float32))
    z = numbers((12, 20), np.complex128)
    for view in (z.T, z[::2, ::-1], np.asfortranarray(z), z[:, 3:11]):
        check(np.fft.fft, view)
        check(lambda x: np.fft.rfft(x, axis=0), view.real)


def test_what_is_not_finite_spoils_its_line_alone() -> None:
    z = numbers((3, 16), np.complex64)
    z[1, 3] = np.nan
    z[2, 5] = np.inf
    for function in (np.fft.fft, lambda z: np.fft.irfft(z, 30)):
        found = pyc.jit(function)(z)
        assert np.isfinite(found[0]).all()
        assert not np.isfinite(found[1:]).any(axis=-1).all() or np.isnan(found[1]).all()
        assert np.isnan(found[1]).all() and not np.isfinite(found[2]).any()


def test_the_ends_of_a_real_spectrum_are_real() -> None:
    for n in (2, 8, 60, 4096, 16_384):
        found = pyc.jit(np.fft.rfft)(numbers((2, n), np.float64))
        assert (found[:, 0].imag == 0).all() and (found[:, -1].imag == 0).all()


def test_imaginary_parts_of_the_ends_count_as_zero() -> None:
    z = numbers((9,), np.complex128)
    other = z.copy()
    other[0], other[-1] = z[0].real, z[-1].real
    jitted = pyc.jit(lambda z: np.fft.irfft(z))
    assert same_bits(jitted(z), jitted(other))


def test_transforms_of_real_numbers_are_symmetric_to_the_bit() -> None:
    for n in (2, 8, 34, 60, 2018):
        found = pyc.jit(np.fft.fft)(numbers((n,), np.float64))
        assert (found[1:] == np.conj(found[1:][::-1])).all()


def test_lines_do_not_depend_on_how_many_there_are() -> None:
    """Alone, among others, along another axis, by vmap: the same bits."""
    for n in (12, 64, 100, 101, 143, 5000):
        z = numbers((21, n), np.complex64)
        whole = pyc.jit(np.fft.fft)(z)
        assert same_bits(pyc.jit(np.fft.fft)(z[3]), whole[3])
        columns = pyc.jit(lambda z: np.fft.fft(z, axis=0))(np.ascontiguousarray(z.T))
        assert same_bits(np.ascontiguousarray(columns.T), whole)
        assert same_bits(pyc.jit(pyc.vmap(np.fft.fft))(z), whole)


def test_vmap_over_any_axis() -> None:
    x = numbers((4, 3, 10), np.float64)
    for axis in range(3):
        lanes = pyc.vmap(lambda x: np.fft.rfft(x, axis=0), in_axes=axis, out_axes=axis)
        moved = np.moveaxis(x, axis, 0)
        expected = np.moveaxis(np.stack([np.fft.rfft(y, axis=0) for y in moved]), 0, axis)
        compare(pyc.jit(lanes)(x), np.ascontiguousarray(expected))
    nested = pyc.vmap(pyc.vmap(np.fft.ifft))
    compare(pyc.jit(nested)(x), np.fft.ifft(x))


@pytest.mark.parametrize("n", [12, 34, 64, 100])
def test_the_interpreter_gives_the_same_bits(n: int) -> None:
    def transforms(x: Any, z: Any) -> Any:
        return np.fft.rfft(x), np.fft.fft(z, axis=0), np.fft.irfft(z), np.fft.fft2(z)

    args = numbers((3, n), np.float32), numbers((6, n), np.complex128)
    for found, wanted in zip(
        pyc.jit(transforms)(*args), pyc.interpret(transforms)(*args), strict=True
    ):
        assert same_bits(np.asarray(found), np.asarray(wanted))


def test_threads_change_nothing() -> None:
    z = numbers((300, 512), np.complex64)
    with pyc.threads(1):
        alone = pyc.jit(np.fft.fft2)(z)
    with pyc.threads(2):
        assert same_bits(pyc.jit(np.fft.fft2)(z), alone)


def test_arrays_outside_of_a_trace() -> None:
    z = numbers((4, 24), np.complex64)
    x = pnp.asarray(z.real)
    compare(np.asarray(pnp.fft.fft(pnp.asarray(z))), np.fft.fft(z))
    compare(np.asarray(np.fft.rfft(x)), np.fft.rfft(z.real))
    compare(np.asarray(pnp.fft.fftshift(x)), np.fft.fftshift(z.real))


def test_in_a_program() -> None:
    """A spectral derivative, a convolution and a low pass, as users write them."""

    def program(u: Any, kernel: Any, length: float) -> Any:
        n = u.shape[0]
        k = 2 * np.pi * np.fft.fftfreq(n, d=length / n)
        slope = np.fft.ifft(1j * k * np.fft.fft(u)).real
        spread = np.fft.irfft(np.fft.rfft(u) * np.fft.rfft(kernel, n), n)
        spectrum = np.fft.fftshift(np.fft.fft(u))
        spectrum[: n // 4] = 0
        spectrum[-n // 4 :] = 0
        return slope, spread, np.fft.ifft(np.fft.ifftshift(spectrum)).real

    u = np.sin(np.linspace(0, 6, 48))
    expected = program(u, np.ones(5), 6.0)
    with config.using(cache="off"):
        found = pyc.jit(program)(u, np.ones(5), 6.0)
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, atol=1e-13)
