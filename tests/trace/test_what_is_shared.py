"""What shares memory with what: after any call, changes of its result and of its arguments are seen
where NumPy shows them, and nowhere else; or the change is refused.

Which arrays are one is decided while a function is traced, so the programs run in the interpreter.
"""

from __future__ import annotations

import linecache
import re
from typing import Any

import numpy as np
import pytest

import pyc
from pyc.errors import TraceError

ARGUMENTS = {
    "x": np.arange(12.0).reshape(3, 4) - 5,
    "v": np.array([3.0, 1.0, 2.0, 5.0]),
    "k": np.array([2, 0, 1, 3]),
    "b": np.array([True, False, True, True]),
}

CALLS = """
np.positive(v); np.conjugate(v); np.real(v); np.imag(v); v.real; (v + 1j).real; np.atleast_1d(v)
np.atleast_2d(v); np.atleast_1d(v, x)[0]; np.broadcast_arrays(v, x)[1]; np.array(v); np.array([v])
np.array(v, ndmin=2); np.array(v, copy=None); np.asarray(v); np.asanyarray(v); np.asfortranarray(v)
np.ascontiguousarray(v); np.asfortranarray(x); np.copy(v); v.copy(); v.astype(float)
v.astype(float, copy=False); np.astype(v, float); np.astype(v, float, copy=False); np.squeeze(v)
np.squeeze(x[None]); np.expand_dims(v, 0); np.reshape(v, (2, 2)); v.reshape(4); v[:]; v[...]; v[::1]
np.take(v, np.arange(4)); v[np.arange(4)]; v[k]; np.flip(v); np.roll(v, 0); np.tile(v, 1)
np.repeat(v, 1); np.repeat(a=v, repeats=1); np.pad(v, 0); np.concatenate([v]); np.stack([v])[0]
np.concatenate((v,), axis=None); np.hstack([v]); np.vstack([x]); np.dstack([x[:, :, None]])
np.column_stack([x]); np.block(v); np.block([v]); np.append(v, []); np.insert(v, 0, [])
np.delete(v, []); np.resize(v, 4); np.sort(v); np.partition(v, 1); np.where(True, v, 0)
np.select([v == v], [v]); np.clip(v, -np.inf, np.inf); v.clip(-9e9); np.round(v); v.round()
np.round(k); np.around(k, 2); np.floor(k); np.ceil(k); np.trunc(k); np.fix(k); np.rint(v)
np.maximum(v, v); np.nan_to_num(v); np.nan_to_num(k); np.nan_to_num(v, copy=False); np.triu(x, -9)
np.real_if_close(v); np.tril(x, 9); np.transpose(v); v.T; np.matrix_transpose(x); x.mT
np.swapaxes(x, 0, 0); np.moveaxis(x, 0, 0); np.rollaxis(x, 0); np.permute_dims(x, (0, 1))
np.einsum('ij->ij', x); np.einsum('ij->ji', x); np.einsum('i,->i', v, 1.0); np.sum(x, axis=())
np.max(x, axis=()); np.sum(v[None], 0); np.max(v[None], 0); np.cumsum(v[:1]); np.diff(v, n=0)
np.diff(v); np.median(v[None], 0); np.add.reduce(x, axis=()); np.add.reduceat(v, [0, 1, 2, 3])
np.bitwise_and.reduce(k[None]); np.logaddexp.reduce(v[None]); np.subtract.reduce(v[None])
np.add.accumulate(x[:1], 0); np.fmod.accumulate(v[None]); v + 0; v * 1; v**1; v / 1; k << 0; k & -1
-(-v); ~~k; +v; np.invert(~k); np.bitwise_or(k, 0); np.dot(v, 1.0); np.kron(v, [1.0])
np.convolve(v, [1.0]); x @ np.eye(4); np.linalg.matrix_power(x[:, :3], 1)
np.linalg.multi_dot([x, np.eye(4)]); np.split(v, 1)[0]; np.array_split(v, 2)[0]; np.unstack(x)[0]
np.vsplit(x, 3)[0]; np.rot90(x, 0); np.rot90(x, 4); np.rot90(x, 2); np.fliplr(x); np.ix_(k)[0]
np.meshgrid(v, v)[0]; np.meshgrid(v, v, sparse=True, copy=False)[0]; np.broadcast_to(v, (2, 4))
np.meshgrid(v, v, sparse=True)[0]; v.ravel(); np.ravel(v); x.ravel(); x.flatten(); np.require(v)
np.asarray_chkfinite(v); v.view(); v.view(np.ndarray); v.view(np.int64); v.swapaxes(0, 0)
v.squeeze(); v.transpose(); v.repeat(1); v.take([0, 1, 2, 3]); v.compress([1, 1, 1, 1])
np.extract([True] * 4, v); np.take_along_axis(v, np.arange(4), 0); np.unwrap(v * 0 + k)
np.fft.fftshift(v, axes=()); np.fft.ifftshift(v[:1]); np.apply_over_axes(np.sum, x, [])
np.apply_along_axis(lambda r: r, 0, v); np.vectorize(lambda t: t)(v); np.logical_or(b, False)
np.expand_dims(v, ()); np.ldexp(v, 0); np.nextafter(v, v); np.r_[v]; np.c_[v]; np.asarray([v])[0]
np.asarray([v, v])[1]; np.reshape([v], 4); np.atleast_2d([v]); list(v)[0]; tuple(x)[1]
[r for r in x][0]; next(iter(x)); max([v[:1]], key=lambda t: t[0]); x[0]; x[-1]
x[1:2]; x[:, 0]; x[:, ::-1]; x[None]; x[[0, 1]]; x[:, [0, 1]]; x[np.ix_([0], [1])]; x[0, 1:]
x[(0, slice(1, 3))]; x[..., 1]; x[1, ...]; x[1, 2, ...]; x[slice(None), 1]; np.zeros_like(v)
"""

CHANGES = {
    "the result": "r[...] = 1",
    "the result, added to": "r += r.dtype.type(1)",
    "the arguments": "x[...] = -7; v[...] = -9; k[...] = 3; b[...] = True",
    "some elements of the arguments": "x[1, 1] = 50; t = x[1]; t += v; v[::2] += 1; k[1] = 3",
}


REFUSED = re.compile("may share memory|read-only")


def function(call: str, change: str) -> Any:
    """The function that copies its arguments, calls, changes, and returns all there is."""
    names = ", ".join(ARGUMENTS)
    copies = "; ".join(f"{name} = {name}.copy()" for name in ARGUMENTS)
    source = f"def f({names}):\n {copies}\n r = {call}\n {change}\n return r, {names}\n"
    file, found = f"<{call}: {change}>", {"np": np}
    linecache.cache[file] = (len(source), None, source.splitlines(True), file)
    exec(compile(source, file, "exec"), found)
    return found["f"]


def applies(call: str, change: str) -> bool:
    """Whether NumPy makes the change: not to scalars, read-only views, and sums of bools."""
    try:
        function(call, change)(*(a.copy() for a in ARGUMENTS.values()))
    except (TypeError, ValueError):
        return False
    return True


@pytest.mark.parametrize("call", [c.strip() for line in CALLS.split("\n") for c in line.split(";")])
def test_a_change_is_seen_where_numpy_shows_it(call: str) -> None:
    if not call:
        return
    for what, change in CHANGES.items():
        if not applies(call, change):
            continue
        run = function(call, change)
        expected = run(*(a.copy() for a in ARGUMENTS.values()))
        try:
            found = pyc.interpret(run)(*ARGUMENTS.values())
        except TraceError as error:
            if REFUSED.search(str(error)) is None:
                raise
            continue
        for name, a, b in zip(["result", *ARGUMENTS], expected, found, strict=True):
            np.testing.assert_allclose(b, a, rtol=1e-14, err_msg=f"{what} changes: {name}")
