"""What `vmap` makes of a function of one example is the program that is written for many by hand:
as many products and steps, no loop over the lanes, the same bits."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import pytest

import pyc
from pyc import tree
from pyc.ir.op import Kind
from tests.programs.differential import same_bits

rng = np.random.default_rng(2)


def array(*shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float32)


def softmax(x):
    e = np.exp(x - x.max())
    return e / e.sum()


def softmax_rows(x):
    e = np.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def distances(a, points):
    return pyc.vmap(lambda b: np.sqrt(((a - b) ** 2).sum()))(points)


def all_distances(a, points):
    return np.sqrt(((a[:, None] - points[None]) ** 2).sum(-1))


def loss(x, label, w, b):
    z = x @ w + b
    top = z.max()
    return np.log(np.exp(z - top).sum()) + top - z[label]


def losses(x, labels, w, b):
    z = x @ w + b
    top = z.max(-1, keepdims=True)
    of_labels = np.take_along_axis(z, labels[:, None], 1)[:, 0]
    return np.log(np.exp(z - top).sum(-1)) + top[:, 0] - of_labels


def kalman(x, p, z, f, h, q, r):
    x, p = f @ x, f @ p @ f.T + q
    gain = p @ h.T / (h @ p @ h.T + r)[0, 0]
    return x + gain @ (z - h @ x), p - gain @ h @ p


def kalman_steps(x, p, z, f, h, q, r):
    x, p = x @ f.T, f @ p @ f.T + q
    gain = p @ h.T / (h @ p @ h.T + r)[:, :1, :1]
    return x + np.matmul(gain, (z - x @ h.T)[..., None])[..., 0], p - gain @ h @ p


def attention(q, k, v):
    return softmax_rows(q @ np.swapaxes(k, -1, -2) / 8) @ v


def counts(x):
    a = np.zeros(4, np.float32)
    for i in range(40):
        a[i % 4] += x[i]
    return a


def counts_of_rows(x):
    a = np.zeros((len(x), 4), np.float32)
    for i in range(40):
        a[:, i % 4] += x[:, i]
    return a


class Pair(NamedTuple):
    one: Callable[..., Any]
    many: Callable[..., Any]
    args: tuple[Any, ...]
    in_axes: Any = 0
    out_axes: Any = 0


X, W, B = array(64, 40), array(40, 24), array(24)
LABELS = rng.integers(0, 24, 64)
FILTER = (array(30, 4), array(30, 4, 4), array(30, 1), array(4, 4), array(1, 4), array(4, 4))
PAIRS = {
    "vector by matrix": Pair(lambda x, w: x @ w, lambda x, w: x @ w, (X, W), (0, None)),
    "matrix by vector": Pair(lambda x, w: w.T @ x, lambda x, w: x @ w, (X, W), (0, None)),
    "matrix by column": Pair(
        lambda w, x: w @ x, lambda w, x: (w @ x.T).T, (W.T.copy(), X), (None, 0)
    ),
    "matrix by matrices": Pair(
        lambda x, w: w @ x, lambda x, w: w @ x, (array(8, 40, 9), W.T.copy()), (0, None)
    ),
    "vectors by each other": Pair(
        np.dot, lambda a, b: np.einsum("bk,bk->b", a, b), (X, X[::-1].copy())
    ),
    "dense layer": Pair(
        lambda x, w, b: np.maximum(x @ w + b, 0),
        lambda x, w, b: np.maximum(x @ w + b, 0),
        (X, W, B),
        (0, None, None),
    ),
    "softmax": Pair(softmax, softmax_rows, (X,)),
    "distances": Pair(distances, all_distances, (array(20, 3), array(30, 3)), (0, None)),
    "loss of an example": Pair(loss, losses, (X, LABELS, W, B), (0, 0, None, None)),
    "Kalman step": Pair(
        kalman, kalman_steps, (*FILTER, array(1, 1)), (0, 0, 0, None, None, None, None)
    ),
    "attention": Pair(attention, attention, (array(3, 16, 64),) * 3),
    "sums of columns": Pair(np.sum, lambda x: x.sum(0), (X,), 1),
    "columns to columns": Pair(lambda c: np.sin(c) * 2, lambda x: np.sin(x) * 2, (X,), 1, 1),
    "element of a row": Pair(lambda x, k: x[k], lambda x, k: x[np.arange(len(x)), k], (X, LABELS)),
    "running sums": Pair(np.cumsum, lambda x: np.cumsum(x, -1), (X,)),
    "sorted rows": Pair(np.sort, lambda x: np.sort(x, -1), (X,)),
    "a loop that updates": Pair(counts, counts_of_rows, (X,)),
}


def facts(lowered: Any) -> tuple[int, int]:
    """How many products and steps a program has."""
    products = sum(e.op.name == "dot_general" for e in lowered.graph.eqns)
    return products, len(lowered.plan.steps)


@pytest.mark.parametrize("name", PAIRS)
def test_lanes_cost_what_the_program_by_hand_does(name: str) -> None:
    pair = PAIRS[name]
    mapped = pyc.vmap(pair.one, pair.in_axes, pair.out_axes)
    by_hand = pyc.jit(pair.many)
    ours, theirs = facts(mapped.lower(*pair.args)), facts(by_hand.lower(*pair.args))
    assert ours[0] == theirs[0] and ours[1] <= theirs[1], f"{ours}, by hand {theirs}"
    found, expected = mapped(*pair.args), by_hand(*pair.args)
    for a, b in zip(tree.leaves(found), tree.leaves(expected), strict=True):
        assert a.dtype == b.dtype and same_bits(a, b)


def loops(function: Any, args: tuple[Any, ...]) -> list[str]:
    return [e.op.name for e in pyc.make_graph(function)(*args).eqns if e.op.kind is Kind.CONTROL]


def test_no_loop_goes_over_lanes() -> None:
    for name, pair in PAIRS.items():
        ours = loops(pyc.vmap(pair.one, pair.in_axes, pair.out_axes), pair.args)
        assert ours == loops(pair.many, pair.args), name
