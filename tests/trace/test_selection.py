"""What a traced mask selects: as NumPy gives it, or refused on the line that needs its length."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pyc.errors import ConcretizationError, PycError
from pyc.jit import jit
from tests.corpus.outcome import compare
from tests.numpy.interpreted import difference

Call = Callable[..., Any]
RNG = np.random.default_rng(11)
X = RNG.standard_normal(9)
Y = RNG.standard_normal(9)
M = RNG.standard_normal((4, 5)).astype(np.float32)
POINTS = RNG.standard_normal((7, 3))
K = RNG.integers(0, 5, 9)
Z = X + 1j * Y
B = X > 0.2
ROOT = Path(__file__).parents[2]


def assign(x, mask, new):
    """`x[mask] = new` in a copy."""
    out = x.copy()
    out[mask] = new
    return out


def add_under(x, y):
    out = x.copy()
    out[x > 0] += y[x > 0]
    out[x > 0] *= 2
    return out


def chained(x):
    """A selection of a selection, changed and stored."""
    out = np.zeros_like(x)
    mask = x > -1
    part = np.exp(x[mask])
    part[part > 1] = 0.5
    part += 1
    out[mask] = part
    return out, x[mask][x[mask] > 0].sum()


def columns(p):
    """Parts of rows that are selected."""
    near = np.abs(p[:, 0]) < 1
    out = p.copy()
    out[near] = p[near] * 2 + np.array([1.0, 2.0, 3.0])
    out[near, 1] = 7
    out[near, 2] = p[near, 0]
    return out, p[near, 0].sum(), p[near][:, 1:].mean(axis=0), p[near].sum(axis=1).max()


def own_copy(x):
    """A selection is a copy: changes of the array after it, and of it, stay apart."""
    a = x + 0
    mask = a > 0
    part = a[mask]
    a[0] = 100
    part *= 10
    return a, part.sum()


def mask_changed_after(x):
    mask = x > 0
    part = x[mask]
    mask[0] = True
    return part.sum()


def gathered(x, k):
    """Places under a mask: those that are not selected may be out of range."""
    far = np.arange(9) * 3
    inside = far < 9
    traced = (k * 3) < 9
    out = np.zeros(9)
    out[traced] = x[k[traced] * 3]
    return out, x[far[inside]].sum(), x[(k * 3)[traced]].max()


def scattered(k, x):
    counts = np.zeros(5)
    np.add.at(counts, k[x > 0], 1)
    counts[k[x < -1]] = 9
    return counts


def counted(x):
    mask = x > 0
    return len(x[mask]) + x[mask].shape[0] + x[mask].size, np.size(x[mask]) * x.sum()


def moments(x):
    s = x[x > -0.5]
    return (
        s.mean(),
        s.std(),
        s.var(ddof=1),
        np.mean(s),
        np.std(s, ddof=1),
        s.prod(),
        s.min(),
        s.max(),
    )


def rows_of_a_mask(m):
    """A mask of two axes."""
    s = m[m > 0]
    out = m.copy()
    out[m > 0] = s / s.sum()
    return out, s.max(), np.count_nonzero(s > 1), s.dtype.itemsize


def a_row(m, k):
    out = m.copy()
    out[1, m[1] > 0] = 5
    out[k[0], m[0] > 0] += 1
    return out, m[2, m[2] > 0].sum()


def in_a_helper(x, mask):
    def scale(v):
        return np.where(v > 1, v, -v) + np.clip(v, 0, 1)

    out = np.full_like(x, np.nan)
    out[mask] = scale(x[mask])
    return out


def with_out(x):
    s = x[x > 0]
    np.multiply(s, 2, out=s)
    t = np.maximum(s, 1)
    return s.sum() + t.sum(), np.dot(s, t), s @ t, np.linalg.norm(s)


def per_element_tables(x):
    s = x[x > 0]
    grid = np.linspace(0, 2, 5)
    found = np.interp(s, grid, grid**2).sum() + np.polyval([1.0, 2.0], s).sum()
    return found, np.searchsorted(grid, s).sum(), np.digitize(s, grid).max(), np.isin(s, [5]).any()


CASES: dict[str, tuple[Any, ...]] = {
    "sum": (lambda x: (x[x > 0].sum(), np.sum(x[x > 0]), np.add.reduce(x[x > 0])), X),
    "sum of integers": (lambda k: (k[k > 1].sum(), k[k > 1].mean(), k[k > 1].min()), K),
    "moments": (moments, X),
    "moments of complex": (lambda z, x: (z[x > 0].mean(), z[x > 0].var(), z[x > 0].sum()), Z, X),
    "of bools": (lambda x: ((x > 1)[x > 0].any(), (x > -9)[x > 0].all(), (x > 1)[x > 0].sum()), X),
    "of none": (
        lambda x: (x[x > 99].sum(), x[x > 99].prod(), x[x > 99].mean(), x[x > 99].any()),
        X,
    ),
    "nan": (lambda x: (x * np.nan)[x > 0].max(), X),
    "assign": (lambda x, b: assign(x, b, x[b] ** 2 + 1), X, B),
    "assign one": (lambda x, b: assign(x, b, 3), X, B),
    "assign casts": (lambda x, k: assign(k, x > 0, x[x > 0] * 10), X, K),
    "augmented": (add_under, X, Y),
    "chained": (chained, X),
    "columns": (columns, POINTS),
    "own copy": (own_copy, X),
    "mask changed after": (mask_changed_after, X),
    "gathered": (gathered, X, K),
    "scattered": (scattered, K, X),
    "counted": (counted, X),
    "mask of two axes": (rows_of_a_mask, M),
    "mask in a row": (a_row, M, K),
    "helper": (in_a_helper, X, B),
    "out": (with_out, X),
    "tables": (per_element_tables, X),
    "mask given": (lambda x, b: (x[b].sum(), x[~b].max()), X, B),
    "equal masks computed twice": (lambda x: assign(x, x > 0, np.sqrt(x[x > 0])), X),
    "reflected": (lambda x: (2 - x[x > 0] / 3 // 1).sum() + (2 ** x[x > 0] % 3).sum(), X),
    "unary": (lambda x: (-x[x > 0] + abs(x[x > 0]) - (+x[x > 0])).sum(), X),
    "bits": (lambda k: ((k[k > 0] & 1) | (k[k > 0] ^ 2) | ~(k[k > 0] << 1)).sum(), K),
    "comparisons": (lambda x: ((x[x > 0] > 1) & (x[x > 0] != 2)).sum(), X),
    "astype round clip": (lambda x: x[x > 0].astype("f4").round(1).clip(0, 1).sum(), X),
    "real imag": (lambda z, x: (z[x > 0].real.sum(), np.imag(z[x > 0]).max()), Z, X),
    "axes": (
        lambda p: (
            p[p[:, 0] > 0].sum(axis=0),
            p[p[:, 0] > 0].max(0),
            p[p[:, 0] > 0].mean(),
            p[p[:, 0] > 0].mean(axis=1).sum(),
            p[p[:, 0] > 0].sum(axis=0, keepdims=True),
        ),
        POINTS,
    ),
    "average": (lambda x, y: np.average(x[x > 0], weights=abs(y)[x > 0]), X, Y),
    "isinstance": (lambda x: x.sum() if isinstance(x[x > 0], np.ndarray) else x, X),
    "half": (lambda x: (x[x > 0].mean(), x[x > 0].sum()), X.astype(np.float16)),
    "traced array with it": (lambda p: (p[p[:, 0] > 0] - p.mean(axis=0)).sum(), POINTS),
    "traced scalar with it": (lambda x: (x.max() - x[x > 0]).sum(), X),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", CASES)
def test_it_is_as_in_numpy(name: str) -> None:
    function, *arrays = CASES[name]
    expected = function(*arrays)
    found = jit(function)(*arrays)
    assert not difference(expected, found)


def returned(x):
    return x[x > 0]


def sorted_selection(x):
    part = x[x > 0]
    return np.sort(part)


def with_a_whole_array(x):
    return (x[x > 0] * x).sum()


def with_another_mask(x):
    part = x[x > 0]
    return (part + x[x > 1]).sum()


def stored_under_another_mask(x):
    out = np.zeros_like(x)
    out[x > 1] = x[x > 0]
    return out


def stored_elsewhere(x):
    out = np.zeros_like(x)
    out[:3] = x[x > 0]
    return out


def looped(x):
    return sum(v for v in x[x > 0])


def decided(x):
    part = x[x > 0]
    return part if part else x


def shaped(x):
    return np.zeros(x[x > 0].shape)


def concatenated(x):
    return np.concatenate([x[x > 0], x])


def method(x):
    return x[x > 0].argsort()


def converted(x):
    return list(x[x > 0])


REFUSED = (
    *(returned, sorted_selection, with_a_whole_array, with_another_mask, stored_elsewhere),
    *(stored_under_another_mask, looped, decided, shaped, concatenated, method),
    converted,
)


@pytest.mark.parametrize("function", REFUSED, ids=lambda f: f.__name__)
def test_it_is_refused_where_its_length_is_needed(function: Call, golden, monkeypatch) -> None:
    monkeypatch.chdir(ROOT)
    with pytest.raises(ConcretizationError if function is not shaped else PycError) as found:
        jit(function)(X)
    golden(str(found.value))


def test_extremes_of_nothing_raise_when_the_program_runs() -> None:
    """As in NumPy, which calls it a ValueError."""
    least = jit(lambda x: x[x > 0].min())
    assert least(np.array([3.0, -1.0, 2.0])) == 2
    with pytest.raises(ValueError):
        least(np.array([-3.0, -1.0, -2.0]))


def test_places_under_a_mask_are_checked() -> None:
    """Those that are selected, and no others."""
    function = jit(lambda x, k: x[k[k < 20]].sum())
    assert function(X, np.array([1, 99, -1])) == X[1] + X[-1]
    with pytest.raises(IndexError):
        function(X, np.array([1, 9, 99]))


def test_a_mask_of_another_shape_is_refused() -> None:
    with pytest.raises(IndexError):
        jit(lambda x, m: x[m > 0].sum())(X, M)


def test_an_element_that_is_not_there_raises_as_in_numpy() -> None:
    def third(x):
        return np.flatnonzero(x > 1)[2]

    x = np.array([0.0, 3.0, 4.0, 0.5])
    with pytest.raises(IndexError) as expected:
        third(x)
    with pytest.raises(IndexError) as found:
        jit(third)(x)
    assert str(found.value) == str(expected.value)
    assert jit(third)(x + 2) == 2


def escaping(c, limit):
    """The first mask is known, and all of it is selected."""
    z = np.zeros_like(c)
    count = np.zeros(c.shape, np.int64)
    for n in range(limit):
        inside = np.abs(z) < 2.0
        count[inside] = n
        z[inside] = z[inside] ** 2 + c[inside]
    return z, count


@pytest.mark.parametrize("size", [9, 130])
def test_a_known_mask_of_many_elements_is_no_constant(size: int) -> None:
    c = np.linspace(-2, 0.5, size) + 1j * np.linspace(-1, 1, size)[:, None]
    compare(jit(escaping)(c, 6), escaping(c, 6), "escaping")
