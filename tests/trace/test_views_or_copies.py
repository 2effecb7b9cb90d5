"""Whether a result shares the memory of an array: as NumPy has it, or an error that asks for a
copy."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import PycError, ShapeError

MADE = """
a.T | a.mT | a.real | a.imag | a.view() | a.ravel() | a.flatten() | a.squeeze() | a.copy()
a.conj()
a.reshape(-1) | a.reshape(a.shape) | a.round() | a.clip(None) | a.transpose() | a.diagonal()
a.astype(float, copy=False) | a.astype(float) | a.astype(np.float32, copy=False)
a.swapaxes(0, -1)
a[...] | a[()] | a[None] | a[..., None] | a[:, None] | a[0] | a[0, ...] | a[[0]] | a[True] | a[::-1]
a[1:] | list(a)[0] | +a | abs(a)
np.flip(a) | np.flip(a, ()) | np.flip(a, 0) | np.fliplr(a) | np.flipud(a) | np.rot90(a)
np.rot90(a, 4) | np.roll(a, 0) | np.squeeze(a) | np.ravel(a) | np.transpose(a) | np.permute_dims(a)
np.atleast_1d(a) | np.atleast_2d(a) | np.atleast_3d(a) | np.expand_dims(a, 0)
np.moveaxis(a, 0, -1)
np.rollaxis(a, 0) | np.swapaxes(a, 0, -1) | np.matrix_transpose(a) | np.unstack(a)[0]
np.real(a) | np.imag(a) | np.conj(a) | np.positive(a) | np.real_if_close(a)
np.asarray(a) | np.asanyarray(a) | np.array(a) | np.array(a, copy=False) | np.copy(a)
np.asarray(a, dtype=float) | np.astype(a, float, copy=False) | np.asarray(a, dtype=complex)
np.nan_to_num(a) | np.nan_to_num(a, copy=False) | np.clip(a, None, None) | np.fix(a) | np.round(a)
np.broadcast_to(a, (2, *a.shape)) | np.broadcast_arrays(a, 1)[0] | np.meshgrid(a)[0]
np.meshgrid(a, copy=False)[0] | np.split(a, 1)[0] | np.array_split(a, 2)[0] | np.hsplit(a, 1)[0]
np.diag(a) | np.diagonal(a) | np.triu(a) | np.tril(a, 9) | np.take(a, [0], axis=0) | np.take(a, 0)
np.hstack([a]) | np.vstack([a]) | np.stack([a])[0] | np.block([a]) | np.concatenate([a], axis=None)
np.delete(a, [], axis=0) | np.insert(a, 0, []) | np.append(a, []) | np.repeat(a, 1) | np.tile(a, 1)
np.pad(a, 0) | np.resize(a, a.shape) | np.where(True, a, a) | np.select([True], [a])
np.choose(0, [a])
np.compress([True], a, axis=0) | np.sort(a) | np.einsum("...", a) | np.einsum("i->i", a)
np.einsum("ij->ji", a) | np.einsum("ii->i", a) | np.lib.stride_tricks.sliding_window_view(a, 1)
"""
EXPRESSIONS = [e.strip() for e in MADE.replace("\n", "|").split("|") if e.strip()]
PROGRAM = """
def program(x):
    a = x.copy()
    v = {made}
    a[...] = 7
    return v, a
"""
BACKWARDS = """
def program(x):
    a = x.copy()
    v = {made}
    v += 1
    return v, a
"""
ARRAYS = {
    "number": np.array(2.0),
    "complex number": np.array(3.0 + 4j),
    "line": np.array([1.0, 2.0, 3.0]),
    "complex line": np.array([1j, 2.0, 3.0 - 4j]),
    "one": np.array([[4.0]]),
    "table": np.arange(9.0).reshape(3, 3),
    "complex table": np.arange(6).reshape(2, 3) * (3 + 4j),
    "nothing": np.zeros((0, 2)),
}


def compared(text: str, x: Any) -> bool:
    """Whether NumPy and pyc both take a program, which then give the same."""
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = names["program"](x)
        except (TypeError, ValueError, IndexError):
            return False
        try:
            found = pyc.interpret(names["program"])(x)
        except PycError:
            return False
    for a, b in zip(expected, found, strict=True):
        assert np.shape(a) == np.shape(b) and np.asarray(a).dtype == np.asarray(b).dtype, text
        np.testing.assert_array_equal(b, a, err_msg=text)
    return True


@pytest.mark.parametrize("name", ARRAYS)
@pytest.mark.parametrize("program", [PROGRAM, BACKWARDS], ids=["the array", "the result"])
def test_what_is_changed_afterwards_is_seen_where_numpy_shares_memory(
    program: str, name: str
) -> None:
    done = [compared(program.format(made=e), ARRAYS[name]) for e in EXPRESSIONS]
    assert sum(done) >= len(done) // 3


SHAPES_OF_OUT = """
np.cumsum(x[:1], out=c) | np.cumsum(x, out=c) | x.cumsum(out=c) | np.sum(x, out=c[0])
np.prod(x, out=c)
np.sum(x, axis=0, out=c[0, :1]) | np.add.reduce(x, out=c[0, :1])
np.add.accumulate(x[:1], out=c[0])
np.mean(x[:, None], axis=1, out=c) | np.argmax(c[:, :1], axis=0, out=n[0])
np.max(c, axis=0, out=c) | np.matmul(c[:1], np.eye(3), out=c) | np.dot(c[:1], np.eye(3), out=c)
np.concatenate([c[:1]], out=c) | np.stack([x], out=c) | np.var(c, out=c) | np.trace(c, out=c)
np.take(x, [0], out=x)
"""


@pytest.mark.parametrize(
    "made", [e.strip() for e in SHAPES_OF_OUT.replace("\n", "|").split("|")][1:-1]
)
def test_an_output_of_another_shape_is_refused_as_by_numpy(made: str) -> None:
    """Broadcasting a sum to an array hides a mistake."""
    text = f"""
def program(y):
    x, c, n = y.copy(), np.zeros((2, 3)) + y, np.zeros((2, 3), int)
    {made}
    return x, c, n
"""
    names: dict[str, Any] = {"np": np}
    exec(text, names)
    x = np.array([1.0, 2.0, 3.0])
    with pytest.raises(ValueError):
        names["program"](x)
    with pytest.raises(ShapeError):
        pyc.jit(names["program"]).trace(x)


def test_elements_and_loops_of_matrix_products_are_broadcast_to_their_output() -> None:
    def program(x):
        a, b, c = np.zeros((4, 3)), np.zeros((2, 3, 3)), np.zeros((3, 3))
        np.add(x, 1, out=a)
        np.clip(x, 0, 2, out=a[1])
        np.matmul(np.eye(3) * x, np.eye(3), out=b)
        np.multiply.outer(x, x, out=c)
        return a, b, c

    x = np.array([1.0, 2.0, 3.0])
    for expected, found in zip(program(x), pyc.jit(program)(x), strict=True):
        np.testing.assert_array_equal(found, expected)
