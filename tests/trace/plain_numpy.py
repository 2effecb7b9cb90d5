"""Plain NumPy code, one construct a row (`plain_rows.py`): names, arrays, values, builtins.
`test_plain_numpy.py` runs every row and writes `docs/plain-numpy.md`.
"""

from __future__ import annotations

from tests.trace.plain_rows import Rows

ROWS = Rows()
section, works, refused = ROWS.section, ROWS.works, ROWS.refused

# --------------------------------------------------------------------------------------------------
section("Names and imports")

works(
    "`np.f(...)` for a module global `np`, under any name",
    """
    import numpy as xp
    def f(x): return np.zeros(3) + xp.ones(3) * x
    """,
)
works(
    "`from numpy import zeros, float32 as single`",
    """
    from numpy import zeros, float32 as single
    def f(x): return zeros(3, single) + single(x.sum())
    """,
)
works(
    "`import` in the function: modules, submodules, names",
    """
    def f(x):
        import math as m
        import numpy.linalg as la
        from numpy import concatenate as cat, full
        return m.exp(x[0]), la.norm(x), cat([x, full(2, 0.5)])
    """,
)
works(
    "`np.linalg`, `np.pi`, `np.newaxis`, dtypes and other names of NumPy",
    """
    def f(x): return np.linalg.norm(x[:, np.newaxis], axis=0) * np.pi + np.finfo(x.dtype).eps
    """,
)
works(
    "functions of NumPy held in variables, lists, dicts, arguments, attributes",
    """
    ACTIVATIONS = {"tanh": np.tanh, "none": lambda v: v}
    STEPS = [np.sin, np.exp]
    def apply(g, v): return g(v)
    def f(x):
        for g in STEPS: x = apply(g, x)
        return ACTIVATIONS["tanh"](x) + ACTIVATIONS["none"](x)
    """,
)
works(
    "module constants: numbers, texts, tuples, None, dtypes",
    """
    G, NAME, SHAPE, KIND = 9.81, "fast", (3,), np.float32
    def f(x): return np.zeros(SHAPE, KIND) + x * (G if NAME == "fast" else 0)
    """,
)
works(
    "captured arrays: they are read at each call, as hidden arguments",
    """
    TABLE, PARTS = np.arange(3.0), {"rows": [np.ones(3)]}
    def f(x): return x * TABLE + PARTS["rows"][0]
    """,
)
works(
    "captured arrays whose elements Python needs: compared before each call",
    """
    SIZES, MASK = np.array([2, 3]), np.array([True, False, True])
    def f(x): return np.zeros(SIZES) + x[MASK].sum() if SIZES[0] > 1 else x
    """,
)
works(
    "`globals()[name]`",
    """
    SCALE = 3.0
    def f(x): return globals()["np"].zeros(3) + x * globals().get("SCALE", 1)
    """,
)
refused(
    "`eval`, `exec`",
    "PYC1510",
    """
    def f(x):
        return eval("np.sin(x)")  # refused
    """,
)
refused(
    "assigning a global name",
    "PYC1200",
    """
    count = 0
    def f(x):
        global count
        count += 1  # refused
        return x
    """,
)

# --------------------------------------------------------------------------------------------------
section("Arrays that the function makes")

works(
    "`zeros`, `ones`, `empty`, `full`, `eye`, `arange`, `linspace`, `array`, `*_like`, ...",
    """
    def f(x):
        n = x.shape[0]
        return (np.zeros(n), np.ones((2, n)), np.full(n, 2), np.eye(n), np.arange(n),
                np.linspace(0, 1, n), np.array([x[0], 1]), np.zeros_like(x), np.identity(2),
                np.tri(n), np.logspace(0, 1, n), np.meshgrid(x, x)[0], np.indices((2, 2)))
    """,
)
works(
    "changing them in place: `a[...] = v`, `+=`, `out=`, `np.copyto`, `put`, `place`, `add.at`",
    """
    def f(x):
        a = np.zeros(5)
        a[1:-1] = x
        a += 1
        a[0] = a[4] = x.sum()
        b = np.array(a)
        b[0] = 100
        c = np.empty_like(a)
        np.multiply(a, 2, out=c)
        np.copyto(c[1:4], x)
        np.put(c, [0, -1], [7, 8])
        np.place(b, b > 2, x)
        np.add.at(b, [0, 0, 1], x)
        return a, b, c
    """,
)
works(
    "methods of arrays, with the arguments that NumPy's have",
    """
    def f(x):
        out = np.zeros(3)
        x.cumsum(0, out=out)
        return out, x.std(0, None, None, 1), x.take([0, 7], mode="clip"), x.ravel("C")
    """,
)
works(
    "arrays of texts or objects, for Python only",
    """
    def f(x):
        names = np.array(["a", "b", "c"])
        return {str(k): v for k, v in zip(names, x)}
    """,
)
works(
    "`np.r_`, `np.c_`, `np.mgrid`, `np.ogrid`, `np.s_`, `np.ix_` of what is known",
    """
    def f(x):
        yy, xx = np.mgrid[0:3, 0:2]
        a, b = np.ogrid[:3, :2]
        return np.r_[0, x, x[0]], np.r_[0:3], np.c_[x, x], yy + xx * x[0], a + b, x[np.s_[1:]]
    """,
)
works(
    "`pyc.random` by a key",
    """
    import pyc
    K = pyc.random.key(3)
    def f(x): return x + pyc.random.normal(pyc.random.fold_in(K, 2), (3,))
    """,
)
works(
    "`np.random.default_rng(seed)` made in the function",
    """
    def f(x): return x + np.random.default_rng(7).normal(size=3)
    """,
)
refused(
    "`np.random` functions, generators from outside, generators without a seed",
    "PYC1200",
    """
    rng = np.random.default_rng(7)
    def f(x):
        return x + rng.normal(size=3)  # refused
    """,
)

# --------------------------------------------------------------------------------------------------
section("Values that depend on no array argument")

works(
    "as a shape, axis, index of a list, range, slice bound, dict key",
    """
    def f(x):
        n = np.prod(np.array([3, 2]))
        y = np.zeros(n) + sum(k for k in range(n))
        return y, x.sum(axis=np.argmin(np.array([1, 2]))), [x, -x][np.arange(2)[1]], x[: n // 3], {
            6: x}[n]
    """,
)
works(
    "in `if`, `while`, `assert`, comparisons, formats",
    """
    def f(x):
        steps = np.arange(3)
        if steps.sum() > 2 and f"{steps[2]:03d}" == "002":
            x = x + 1
        assert np.all(steps >= 0)
        return x
    """,
)
works(
    "iterated",
    """
    def f(x):
        for k in np.arange(3):
            x = x * k + x[k]
        for t in np.linspace(0, 1, 3):
            x = x + t
        return x
    """,
)
works(
    "functions of NumPy that pyc does not compile, on such values",
    """
    def f(x):
        order = np.unique(np.array([3, 1, 3, 2]))
        window = np.hanning(3)
        i, j = np.triu_indices(3, 1)
        return x[order - 1] * window, np.outer(x, x)[i, j], np.where(np.arange(3) > 0)[0] + x[0]
    """,
)
works(
    "boolean masks that are known",
    """
    def f(x):
        keep = np.arange(3) != 1
        a = np.zeros(3)
        a[keep] = x[keep] * 2
        return a
    """,
)
works(
    "boolean masks that depend on an argument, where the number selected need not be known",
    """
    def f(x):
        high = x > 2
        a = np.zeros(3)
        a[high] = np.sqrt(x[high]) + 1
        a[~high] *= 2
        return a, x[high].mean(), x[high].max(), len(x[high]), x[x < 2].sum()
    """,
)
works(
    "reductions with `where=`, `initial=`; functions of elements with `where=` and `out=`",
    """
    def f(x):
        inverse = np.divide(1, x, out=np.zeros_like(x), where=x > 2)
        return x.sum(where=x > 2), x.max(where=x > 2, initial=0), x.mean(where=x < 9), inverse
    """,
)
works(
    "masks of other axes than the first ones, assigned to",
    """
    def f(x):
        a = np.ones((2, 3)) * x
        a[:, x > 2] = 0
        return a
    """,
)
refused(
    "such masks, read",
    "PYC1101",
    """
    def f(x):
        a = np.ones((2, 3)) * x
        return a[:, x > 2].sum()  # refused
    """,
)
refused(
    "such a selection as a result, sorted, joined with others",
    "PYC1101",
    """
    def f(x):
        return x[x > 1]  # refused
    """,
)
works(
    "`np.nonzero`, `np.flatnonzero`, `np.argwhere`, `np.where(c)`: such selections of places",
    """
    def f(x):
        places = np.flatnonzero(x > 1)
        total = 0.0
        for i in places:
            total += x[i] * i
        return places[0], np.nonzero(x > 1)[0][-1], len(places), x[places].sum(), total
    """,
)
works(
    "slices `a[low:high]` with bounds that depend on data: such selections too",
    """
    def f(x):
        k, a = np.argmax(x), x.copy()
        a[:k] = 0
        return x[: k + 1].mean(), np.argmin(x[k:]), a
    """,
)
refused(
    "`np.unique` and others whose result has a length that depends on an argument",
    "PYC1101",
    """
    def f(x):
        return np.unique(x)  # refused
    """,
)
works(
    "`raise` and `assert` that depend on an argument: [the program raises](loops.md)",
    """
    def f(x):
        assert x.sum() > 2, "too small"
        if not np.isfinite(x).all():
            raise ValueError("not finite")
        return x
    """,
)
refused(
    "a traced value as a shape, a range or an index of a list",
    "PYC1103",
    """
    def f(x):
        return np.zeros(int(x[0]))  # refused
    """,
)
refused(
    "an array of rank 0 likewise: it is data, which may change in place; pass `int(n)`",
    "PYC1103",
    """
    def f(x, n):
        return np.zeros(n) + x.sum()  # refused
    """,
    "x, np.array(3)",
)
works(
    "a number argument as a shape, a range or an index of a list: compiled for each value",
    """
    def f(x, n):
        for _ in range(n): x = x + [1.0, 2.0, 3.0, 4.0][n]
        return x, np.zeros(n)
    """,
    "x, 3",
)
refused(
    "a function of NumPy that pyc does not compile, on traced values",
    "PYC1510",
    """
    def f(x):
        return np.emath.sqrt(x)  # refused
    """,
)
refused(
    "`np.testing`, `np.ma`, `np.nditer` of traced values",
    "PYC1510",
    """
    def f(x):
        np.testing.assert_allclose(x, 1)  # refused
        return x
    """,
)
refused(
    "reading and writing files",
    "PYC1200",
    """
    def f(x):
        np.save("out.npy", x)  # refused
        return x
    """,
)
refused(
    "NumPy's settings",
    "PYC1200",
    """
    def f(x):
        np.seterr(all="raise")  # refused
        return x
    """,
)
works(
    "`with np.errstate(...)`: allowed; warnings are not emulated",
    """
    def f(x):
        with np.errstate(divide="ignore", invalid="ignore"):
            return np.where(x > 1, 1 / (x - 1), 0.0)
    """,
)

# --------------------------------------------------------------------------------------------------
section("Conversions and builtins")

works(
    "the bits of numbers as those of another type of the same size: `x.view(np.int64)`",
    """
    def f(x):
        return x.view(np.int64) >> 52, (x.view(np.uint64) | (1 << 63)).view(x.dtype)
    """,
)
refused(
    "such a view that is changed, or used after its array was",
    "PYC1100",
    """
    def f(x):
        a = x.copy()
        bits = a.view(np.int64)
        bits[0] = 0  # refused
        return a
    """,
)

works(
    "`float(x)`, `int(x)`, `bool(x)`, `complex(x)` called by name",
    """
    def f(x):
        return float(x.sum()) * np.ones(2, np.float32), int(x[1]), bool(x[0]), complex(x[0], 1)
    """,
)
works(
    "`np.float32(x)`, `np.int64(x)`, `self.dtype(x)` called through a name of the module",
    """
    def f(x): return np.float32(x.sum()), np.int64(x[2]), np.float64(3), np.bool_(x[0])
    """,
)
works(
    "types as values: `dtype=float`, `isinstance(x, float)`, `x.dtype == np.float64`, keys",
    """
    SIZES = {np.float32: 4, np.float64: 8}
    def f(x):
        assert isinstance(x, np.ndarray) and isinstance(x[0], float) and not isinstance(x, float)
        assert x.dtype == np.float64 and x.dtype.type is np.float64 and SIZES[np.float64] == 8
        assert np.issubdtype(x.dtype, np.floating) and type(x) is np.ndarray
        return np.zeros(2, dtype=float) + x.astype(np.float32)[0]
    """,
)
refused(
    "a scalar type in a local variable, called: `kind = np.float32; kind(x)`",
    "PYC1104",
    """
    def f(x):
        kind = np.float32
        return kind(x.sum())  # refused
    """,
)
refused(
    "`map(float, x)`: a type handed to other code",
    "PYC1101",
    """
    def f(x):
        return list(map(float, x))  # refused
    """,
)
works(
    "`min`, `max` of scalars, `key=`, of an array: the first smallest, as Python finds it",
    """
    def f(x):
        pairs = [(x[0], 1), (x[1], 2)]
        return min(x[0], x[1], 1.5), max(x), min(x, key=lambda v: -v), max(
            pairs, key=lambda p: p[0])
    """,
)
works(
    "`sum`, `any`, `all`, `sorted`, `abs`, `round`, `pow`, `divmod`, `len`",
    """
    def f(x):
        return (sum(x), sum([x, x]), any(v > 2 for v in x), all(x > 0), sorted(x, reverse=True),
                abs(-x), round(x[0], 1), pow(x, 2), divmod(x, 2), len(x))
    """,
)
works(
    "`range`, `enumerate`, `zip`, `map`, `filter`, `reversed`, `list`, `tuple`, comprehensions",
    """
    def f(x):
        rows = [np.zeros(2) + v * k for k, v in enumerate(x)]
        return rows, list(zip(x, reversed(x))), list(map(np.sin, x)), tuple(x), {
            k: v for k, v in zip("abc", x)}
    """,
)
works(
    "conditions of comprehensions on data, `filter`: `sum`, `any`, `min`, `len`, `next`, loops, "
    "`np.array` of it",
    """
    def f(x):
        return (sum(v for v in x if v > 1), next((v for v in x if v > 9), -1.0),
                len([v for v in x if v > 1]), np.mean([v for v in x if v > 1]),
                max(filter(lambda v: v < 9, x)))
    """,
)
refused(
    "such a list or iterator as a result, indexed, as a tuple",
    "PYC1101",
    """
    def f(x):
        return [v for v in x if v > 1]  # refused
    """,
)
works(
    "`sorted` of numbers and rows by keys",
    """
    def f(x):
        return sorted(x, key=abs), sorted(range(len(x)), key=lambda i: x[i], reverse=True)
    """,
)
works(
    "`statistics`: means, medians, variances, in NumPy's arithmetic",
    """
    import statistics
    from statistics import stdev
    def f(x):
        return statistics.mean(x), statistics.median(x), stdev(x), statistics.fmean(v for v in x)
    """,
)
works(
    "`functools.reduce`, `operator`, `itertools`",
    """
    import functools, itertools, operator
    def f(x):
        running = list(itertools.accumulate(x, operator.add))
        return functools.reduce(np.maximum, [x, x[::-1]]), running
    """,
)
works(
    "`math`, `cmath`: Python numbers, NaN where `math` would raise",
    """
    import math
    from math import hypot
    def f(x):
        return (math.sin(x[0]) * np.ones(2, np.float32), hypot(x[0], 2), math.log(x[1], 2),
                math.floor(x[1]), math.isclose(x[0], 1), math.sqrt(16), math.fsum([1.0, 2.0]))
    """,
)
works(
    "`scipy.special` functions that pyc has",
    """
    from scipy.special import erf
    import scipy.special as sp
    def f(x): return erf(x) + sp.erfc(x)
    """,
)
refused(
    "functions of other compiled libraries",
    "PYC1510",
    """
    import scipy.special
    def f(x):
        return scipy.special.ellipk(x)  # refused
    """,
)
