"""Python integers that are arguments of the traced function, wherever NumPy takes an integer: they
are traced, and where a shape or an axis needs the value it is looked at and guarded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from pyc.jit import jit
from tests.corpus.outcome import compare

RNG = np.random.default_rng(0)
X = np.arange(1.0, 9)
M = RNG.standard_normal((4, 4))
T = RNG.standard_normal((2, 4, 4))

CASES: dict[str, Callable[..., Any]] = {
    "roll": lambda x, m, t, k: np.roll(x, k),
    "eye": lambda x, m, t, k: np.eye(3, k=k),
    "eye2": lambda x, m, t, k: np.eye(k, 3),
    "diag": lambda x, m, t, k: np.diag(x, k),
    "diagM": lambda x, m, t, k: np.diag(m, k),
    "tril": lambda x, m, t, k: np.tril(m, k),
    "tri": lambda x, m, t, k: np.tri(3, k=k),
    "repeat": lambda x, m, t, k: np.repeat(x, k),
    "tile": lambda x, m, t, k: np.tile(x, k),
    "tile2": lambda x, m, t, k: np.tile(x, (k, 2)),
    "sum": lambda x, m, t, k: np.sum(m, axis=k),
    "sumt": lambda x, m, t, k: t.sum(axis=(0, k)),
    "split": lambda x, m, t, k: np.split(x, k * 2),
    "asplit": lambda x, m, t, k: np.array_split(x, k + 2),
    "splitl": lambda x, m, t, k: np.split(x, [k, 4]),
    "rot90": lambda x, m, t, k: np.rot90(m, k),
    "diff": lambda x, m, t, k: np.diff(x, k),
    "mpow": lambda x, m, t, k: np.linalg.matrix_power(m, k),
    "norm": lambda x, m, t, k: np.linalg.norm(x, k),
    "normax": lambda x, m, t, k: np.linalg.norm(m, axis=k),
    "std": lambda x, m, t, k: x.std(ddof=k),
    "var": lambda x, m, t, k: np.var(x, ddof=k),
    "trace": lambda x, m, t, k: np.trace(m, offset=k),
    "diagonal": lambda x, m, t, k: m.diagonal(k),
    "expand": lambda x, m, t, k: np.expand_dims(m, k),
    "moveaxis": lambda x, m, t, k: np.moveaxis(t, 0, k),
    "swap": lambda x, m, t, k: t.swapaxes(0, k),
    "round": lambda x, m, t, k: np.round(x / 3, k),
    "pad": lambda x, m, t, k: np.pad(x, k),
    "padt": lambda x, m, t, k: np.pad(x, (k, 2), mode="edge"),
    "full": lambda x, m, t, k: np.full((k, 2), 3),
    "fullv": lambda x, m, t, k: np.full(3, k),
    "hist": lambda x, m, t, k: np.histogram(x, k + 2),
    "bincount": lambda x, m, t, k: np.bincount(x.astype(int) - 1, minlength=k + 9),
    "reshape": lambda x, m, t, k: x.reshape(k, -1),
    "insert": lambda x, m, t, k: np.insert(x, k, 0),
    "delete": lambda x, m, t, k: np.delete(x, k),
    "argsort": lambda x, m, t, k: np.argsort(m, axis=k),
    "stack": lambda x, m, t, k: np.stack([m, m], axis=k),
    "cumsum": lambda x, m, t, k: np.cumsum(m, axis=k),
    "take": lambda x, m, t, k: np.take(m, [0, 1], axis=k),
    "median": lambda x, m, t, k: np.median(m, axis=k),
    "cov": lambda x, m, t, k: np.cov(m, ddof=k),
    "gradient": lambda x, m, t, k: np.gradient(m, axis=k),
    "concat": lambda x, m, t, k: np.concatenate([m, m], axis=k),
    "flip": lambda x, m, t, k: np.flip(m, k),
    "window": lambda x, m, t, k: np.lib.stride_tricks.sliding_window_view(x, k + 1),
    "arange": lambda x, m, t, k: np.arange(k, 5) * x[0],
    "arange2": lambda x, m, t, k: np.arange(0, 9, k + 1),
    "linspace": lambda x, m, t, k: np.linspace(0, 1, k + 3),
    "zeros": lambda x, m, t, k: np.zeros(k),
    "ones": lambda x, m, t, k: np.ones((k, k)),
    "identity": lambda x, m, t, k: np.identity(k),
    "tensordot": lambda x, m, t, k: np.tensordot(m, m, axes=k),
    "quant": lambda x, m, t, k: np.quantile(x, k / 2),
    "perc": lambda x, m, t, k: np.percentile(x, k * 10),
    "unravel": lambda x, m, t, k: np.unravel_index(k, (2, 3)),
    "rollax": lambda x, m, t, k: np.roll(m, k, axis=k),
    "resize": lambda x, m, t, k: np.resize(x, k + 2),
    "indices": lambda x, m, t, k: np.indices((k, 2)),
    "vander": lambda x, m, t, k: np.vander(np.arange(3), k + 1) * x[0],
    "logspace": lambda x, m, t, k: np.logspace(0, k, 3),
    "slice": lambda x, m, t, k: x[k:],
    "slice2": lambda x, m, t, k: x[:: k + 1],
    "index": lambda x, m, t, k: x[k],
    "pow": lambda x, m, t, k: x**k,
    "shift": lambda x, m, t, k: x.astype(int) << k,
    "list": lambda x, m, t, k: [x, 2 * x][k],
    "range": lambda x, m, t, k: sum(x[i] for i in range(k)),
    "ptp": lambda x, m, t, k: np.ptp(m, axis=k),
    "argmax": lambda x, m, t, k: m.argmax(axis=k),
    "squeeze": lambda x, m, t, k: np.squeeze(m[:, None, None], axis=k),
    "unstack": lambda x, m, t, k: np.unstack(m, axis=k),
    "broadcast": lambda x, m, t, k: np.broadcast_to(x, (k, 8)),
    "interp": lambda x, m, t, k: np.interp(k, [0, 2], [1.0, 5.0]) * x[0],
    "kron": lambda x, m, t, k: np.kron(np.eye(k), m),
    "cross": lambda x, m, t, k: np.cross(m[:3, :3], m[1:, :3], axis=k),
    "maxi": lambda x, m, t, k: max(k, 0) * x,
    "trapz": lambda x, m, t, k: np.trapezoid(m, axis=k),
    "acc": lambda x, m, t, k: np.maximum.accumulate(m, axis=k),
    "apply": lambda x, m, t, k: np.apply_along_axis(np.sum, k, m),
    "triu": lambda x, m, t, k: np.triu_indices(3, k),
    "trili": lambda x, m, t, k: np.tril_indices_from(m, k),
    "nanmean": lambda x, m, t, k: np.nanmean(m, axis=k),
    "astype": lambda x, m, t, k: np.array(k, dtype=float) * x,
}


NOT_ZERO = ("sumt", "split", "reshape", "squeeze")
"""Where NumPy refuses 0."""


@pytest.mark.parametrize("name", CASES)
def test_an_integer_argument_may_be_given_there(name: str) -> None:
    """And another integer gives another result, of a program of its own or not."""
    function = jit(CASES[name])
    for k in (1, 2) if name in NOT_ZERO else (1, 0):
        compare(function(X, M, T, k), CASES[name](X, M, T, k), name)
