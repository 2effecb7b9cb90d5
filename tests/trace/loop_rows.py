"""Loops, one construct a row, and what becomes of each. `test_loop_rows.py` runs every row and
writes the tables of `docs/loops.md`.
"""

from __future__ import annotations

from tests.trace.construct_rows import BRANCH, KERNEL, LOOP, SELECTION, STRAIGHT, Rows

ROWS = Rows()
section, row = ROWS.section, ROWS.row

# --------------------------------------------------------------------------------------------------
section("Loops")

row(
    "`for` over a `range` of up to 16 iterations (64 of nested loops in all)",
    STRAIGHT,
    """
    def f(x):
        for i in range(16): x = 0.5 * x + i
        return x
    """,
)
row(
    "whose iterations would be much code in a row",
    KERNEL,
    """
    def f(x):
        for i in range(8): x = np.sin(np.cos(np.exp(-x * x))) + i
        return x
    """,
)
row(
    "over a longer one",
    LOOP,
    """
    def f(x):
        for i in range(1000): x = np.cumsum(x) / (1 + i)
        return x
    """,
)
row(
    "with an integer argument as a bound: one program for all its values",
    LOOP,
    """
    def f(x, n):
        for i in range(1, n): x = np.cumsum(x) / i
        return x
    """,
    "x, 5",
)
row(
    "with a bound that depends on data",
    LOOP,
    """
    def f(x):
        n = int(x[0])
        for i in range(n, 0, -1): x = np.cumsum(x) / i
        return x
    """,
    "x * 8",
)
row(
    "whose body is element-wise, or about numbers only",
    KERNEL,
    """
    def f(x):
        for i in range(1000): x = 0.5 * x + i
        return x
    """,
)
row(
    "`for` over an array: its elements or rows, which are views",
    LOOP,
    """
    def f(x):
        a, s = np.zeros((20, 3)) + x, 0.0
        for line in a:
            line[0] = s
            s = s + np.sort(line)[1]
        return a
    """,
)
row(
    "`for` over `enumerate`, `zip` and `reversed` of ranges and arrays",
    KERNEL,
    """
    def f(x):
        a, s = np.zeros(20) + x[0], 0.0
        for i, (v, k) in enumerate(zip(reversed(a), range(30))): s = 0.5 * s + i * v - k
        return s
    """,
)
row(
    "`for` over `itertools.product` and `np.ndindex` of these",
    KERNEL,
    """
    import itertools
    def f(x, n):
        a, s = np.zeros((9, 9)), 0.0
        for i, j in np.ndindex(a.shape): a[i, j] = x[i % 3] * j
        for i, j in itertools.product(range(n), range(9)): s += a[i, j] * a[i, j - 1]
        return a, s
    """,
    "x, 7",
)
row(
    "`while` on traced values",
    KERNEL,
    """
    def f(x):
        y, n = x.sum(), 0
        while abs(y * y - 2) > 1e-12:
            y, n = (y + 2 / y) / 2, n + 1
        return y, n
    """,
)
row(
    "`while` on values that are known, up to 16 iterations",
    STRAIGHT,
    """
    def f(x):
        h = 1.0
        while h > 1e-3: h, x = h / 2, x + h
        return x
    """,
)
row(
    "whose iterations would be much code in a row, or of a `for` with a `break` that is known",
    KERNEL,
    """
    def f(x):
        h = 1.0
        while h > 1e-2: h, x = h / 2, np.sin(np.cos(np.exp(-x * x))) + h
        for i in range(16):
            x = np.sin(np.cos(np.exp(-x * x))) + i
            if i == 12: break
        return x, h
    """,
)
row(
    "`break`, `continue` and `else` of loops",
    KERNEL,
    """
    def f(x):
        s = 0.0
        for i in range(100):
            if i % 3 == 0: continue
            s += x[0]
            if s > 20: break
        else:
            s = -1.0
        return s
    """,
)
row(
    "`return` in loops, nested ones too",
    LOOP,
    """
    def f(x):
        for i in range(100):
            for j in range(100):
                if i * x[0] + j > 150: return i, j
        return -1, -1
    """,
)
row(
    "`while True` that a `break` or a `return` leaves",
    KERNEL,
    """
    def f(x):
        s = x[0]
        while True:
            s = s * 1.25
            if s > 100: return s
    """,
)
row(
    "`for` over a list, a tuple, a dict, a set, a generator",
    STRAIGHT,
    """
    def f(x):
        for k, v in {"a": 2.0, "b": 3.0}.items():
            for w in [x, x * 2]:
                for t in (1, 2): x = x + v * w * t
        return sum(x * k for k in range(3))
    """,
)
row(
    "comprehensions of up to 16 elements, of several `for`, of dicts and sets",
    STRAIGHT,
    """
    def f(x): return sum([x[k] * k for k in range(3)] + [a * b for a in x for b in x])
    """,
)
row(
    "longer ones over ranges, arrays and what loops made, and `sum`, `min`, `max` of them",
    KERNEL,
    """
    def f(x):
        y = [np.sin(0.1 * k) * x[0] for k in range(1000)]
        return sum([v * v for v in y]), max(a * b for a, b in zip(y, reversed(y)))
    """,
)
row(
    "their conditions on data, with `sum`, `min`, `max`, `any`, `all`, `len`, `next`, `np.array`",
    SELECTION,
    """
    def f(x):
        first = next((k for k, v in enumerate(x) if v > 1), -1)
        high = np.array([v for v in x if v > 1])
        most = max((v for v in x if v > 9), default=0.0)
        return sum(v for v in x if v > 1), most, first, high.mean()
    """,
)
row(
    "a loop that does nothing with traced values, up to a million iterations",
    STRAIGHT,
    """
    def f(x):
        primes = []
        for n in range(2, 200):
            if all(n % p for p in primes): primes.append(n)
        return x * primes[-1]
    """,
)
row(
    "a loop that needs the number of the iteration: shapes, items of lists",
    STRAIGHT,
    """
    def f(x):
        y = x[0]
        for i in range(20): y = y + np.ones(i).sum()
        return y
    """,
)
row(
    "with slices of a known length by its counter: `x[:, i : i + 3]`, `out[i - 1 : i + 2, j] = v`",
    KERNEL,
    """
    def f(x):
        y = np.zeros((20, 20)) + x[0]
        for i in range(1, 18):
            y[:, i : i + 3] += i
            y[i - 1 : i + 2, 4] = y[5, i - 1 : i + 2] * 0.5
        return y
    """,
)
row(
    "with slices `a[:i]`, `a[i:j, k:]`, `a[:, i:]` by its counter or by data, which are views: "
    "what is in them is masked",
    LOOP,
    """
    def f(x):
        y = np.zeros((20, 20)) + x[0]
        for i in range(20):
            v = y[:i]
            v += i * y[max(i - 3, 0) : i].sum() * 0.0001
            y[i:, :i] -= np.outer(y[i:, 0], y[1, :i]) * 0.0001
            y[0] += y[:, i:].sum(axis=1) * 0.01
        return y
    """,
)
row(
    "with slices of a traced step, or a step below zero and no known length: `a[k * k :: k]`",
    STRAIGHT,
    """
    def f(x):
        y = np.zeros(400) + x[0]
        for k in range(2, 20):
            y[k * k :: k] += 1
        return y
    """,
)
row(
    "with two slices of one length: `a[i:] -= a[:-i]`, `x[:k] * x[1 : k + 1]`, `np.flip(y[:k])`",
    LOOP,
    """
    def f(x):
        y = np.zeros(20) + x[0]
        for i in range(1, 19):
            y[i:] -= 0.1 * y[:-i]
            y[:i] += y[1 : i + 1] * np.flip(y[:i]) * 0.01
        return y
    """,
)
row(
    "with a slice of the length of an array: `w @ y[i : i + 4]`, `rows[i] = y[i : i + 4]`",
    KERNEL,
    """
    def f(x):
        y = np.arange(24.0) * x[0]
        w, rows = np.arange(4.0), np.zeros((20, 4))
        for i in range(20):
            rows[i] = y[i : i + 4]
            y[i] += w @ y[i : i + 4]
        return y, rows
    """,
)
row(
    "`for` over what a mask or `np.flatnonzero`, `np.argwhere` selects: over all, with branches",
    BRANCH,
    """
    def f(x):
        s = 0.0
        for i in np.flatnonzero(x > 1): s += np.sort(x[i] * x)[0]
        for v in x[x > 2]: s -= v
        return s
    """,
)
row(
    "a loop that changes Python objects otherwise than by new values in old places",
    STRAIGHT,
    """
    def f(x):
        out = []
        for i in range(20): out.insert(0, x * i)
        return np.stack(out)
    """,
)
row(
    "such a loop up to an integer argument: a program for each of its values",
    STRAIGHT,
    """
    def f(x, n):
        out = [x]
        for i in range(n): out.append(out[-1] * 0.5)
        return np.stack(out)
    """,
    "x, 5",
    each=True,
)
row(
    "a loop whose first iteration differs: that one is straight code",
    LOOP,
    """
    def f(x):
        before = None
        for i in range(100):
            x = x if before is None else np.cumsum(x - before) / 8
            before = x * 0.5
        return x
    """,
)

# --------------------------------------------------------------------------------------------------
section("What a loop carries")

row(
    "numbers, which widen: an `int` becomes a `float`, or takes the dtype of an array",
    KERNEL,
    """
    def f(x):
        s = 0
        for i in range(100): s = s + x[0] * i
        return s
    """,
)
row(
    "arrays that are assigned, alone or in tuples",
    LOOP,
    """
    def f(x):
        u, v = x, 2 * x
        for i in range(100): u, v = (u + v[::-1]) / 2, np.cumsum(u) / 4
        return u, v
    """,
)
row(
    "arrays that are changed in place: `a[i] = v`, `a[1:] += b`, without a copy",
    KERNEL,
    """
    def f(x):
        a = np.zeros(30)
        for i in range(2, 30):
            a[i] = 0.5 * (a[i - 1] + a[i - 2]) + x[0]
            a[1:] += 0.01
        return a
    """,
)
row(
    "changed through an alias, a view, a helper, a method, a closure",
    KERNEL,
    """
    def helper(a, v): a[0] = v
    class Field:
        def __init__(self, n): self.values = np.zeros(n)
        def shift(self): self.values[1:] = 0.5 * (self.values[1:] + self.values[:-1])
    def f(x):
        field, a = Field(20), x.copy()
        view, alias = a[1:], a
        def step(i):
            alias[0] += i
        for i in range(100):
            view *= 0.5
            step(i)
            helper(field.values, a[1])
            field.shift()
        return a, field.values
    """,
)
row(
    "arrays that change places with each other",
    KERNEL,
    """
    def f(x):
        old, new = np.zeros(30) + x[0], np.zeros(30)
        for i in range(100):
            new[1:-1] = (old[:-2] + old[2:]) / 2
            old, new = new, old
        return old
    """,
)
row(
    "elements of lists, values of dicts, attributes of objects",
    LOOP,
    """
    class State:
        pass
    def f(x):
        state, items, table = State(), [x, 1.0], {"a": x}
        state.x = x
        for i in range(100):
            state.x = np.cumsum(state.x) / 8
            items[0] = items[0] * 0.5 + state.x
            items[1] += 1
            table["a"] = items[0][::-1]
        return state.x, items, table["a"]
    """,
)
row(
    "the counter, which has its last value after the loop",
    LOOP,
    """
    def f(x, n):
        for i in range(n): x = np.cumsum(x) / 2
        return x * i
    """,
    "x, 5",
)
row(
    "Python integers as indices, on the left and on the right",
    KERNEL,
    """
    def f(x, n):
        a = np.zeros(30)
        for i in range(n): a[i] = x[i % 3] + a[i - 1]
        return a
    """,
    "x, 25",
)

row(
    "a list that each iteration appends new values to is stacked by the loop: `np.array(history)`",
    LOOP,
    """
    def f(x):
        history, totals = [x], []
        for i in range(1000):
            x = np.cumsum(x) / (1 + i)
            history.append(x)
            totals.append(x.sum())
        return np.array(history), totals[-1], len(totals)
    """,
)
row(
    "of which it reads elements: `y[-1]`, `y[i - 2]`, `y[-4:]`, `len(y)`",
    KERNEL,
    """
    def f(x):
        y = [x[0], x[1]]
        for i in range(2, 1000): y.append(0.5 * y[i - 1] - 0.1 * y[-2] / len(y))
        return np.array(y), y[7], sum(y)
    """,
)
row(
    "a list that grows otherwise: now and then, of one array that changes, arrays read anywhere",
    STRAIGHT,
    """
    def f(x):
        history = [x[0]]
        for i in range(100):
            if i % 10 == 0:
                history.append(0.5 * history[-1])
        return np.array(history)
    """,
)
