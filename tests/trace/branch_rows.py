"""Branches, exceptions, and loops that are refused, one construct a row, as in `loop_rows.py`."""

from __future__ import annotations

from tests.trace.construct_rows import BRANCH, CHECK, KERNEL, SELECTION, STRAIGHT, Rows

ROWS = Rows()
section, row = ROWS.section, ROWS.row

# --------------------------------------------------------------------------------------------------
section("Branches")

row(
    "`if` that chooses a few numbers",
    SELECTION,
    """
    def f(x):
        if x[0] > 1:
            a, b = x[1] + 1, 2
        else:
            a, b = 0.0, x[2] * 3
        return a, b
    """,
)
row(
    "`if` with work in it: one side is computed",
    BRANCH,
    """
    def f(x):
        if x[0] > 1: x = np.sort(x)
        elif x[1] > 1: x = np.cumsum(x)
        return x
    """,
)
row(
    "arrays that are changed in place in a branch, elements of lists, attributes",
    BRANCH,
    """
    def f(x):
        a, items = x.copy(), [x]
        if x[0] > 1:
            a[1:] = np.cumsum(x)[1:]
            items[0] = np.sort(x)
        return a, items[0]
    """,
)
row(
    "`return` in a branch",
    BRANCH,
    """
    def f(x):
        if x[0] > 100: return np.sort(x)
        if x[1] > 1: return np.cumsum(x)
        return x
    """,
)
row(
    "`a if c else b`, `and`, `or`, `not`, `a < b < c`",
    SELECTION,
    """
    def f(x):
        y = x[1] if 0 < x[0] < 2 and not x[1] > 5 else x[2]
        return y or 7.0
    """,
)
row(
    "`match` on data: values and guards",
    SELECTION,
    """
    def f(x):
        match x[0]:
            case 1 | 2: y = 5.0
            case v if v > 3: y = v * 2
            case _: y = 0.0
        return y
    """,
)
row(
    "`v in (a, b)`, `v not in x`",
    BRANCH,
    """
    def f(x): return 1.0 if x[0] in (1, 2) or 3 not in x else x[1]
    """,
)
row(
    "the same in a `lambda`",
    SELECTION,
    """
    positive = lambda v: v if v > 0 else 0.0
    f = lambda x: positive(x[0]) + positive(x[1] - 5)
    """,
)
row(
    "operands that Python does not evaluate: `k < len(x) and x[k] > 0`",
    BRANCH,
    """
    def f(x):
        k = int(x[0] * 10)
        return 1 if k < len(x) and x[k] > 0 else 2
    """,
)
row(
    "`if` on integer arguments: one program for all values, where both sides fit together",
    SELECTION,
    """
    def f(x, n):
        if n > 3: x = x + n
        return x
    """,
    "x, 5",
)
row(
    "a program for each value, where they do not",
    STRAIGHT,
    """
    def f(x, order):
        if order == 2:
            c = np.array([1.0, 2.0])
        else:
            c = np.array([1.0, 2.0, 3.0])
        return x[: len(c)] * c
    """,
    "x, 3",
    each=True,
)

# --------------------------------------------------------------------------------------------------
section("Exceptions")

row(
    "`if` on data with a `raise` on one side: the program raises just that",
    CHECK,
    """
    def f(x):
        if (x < 0).any():
            raise ValueError("negative")
        return np.sqrt(x)
    """,
    raises="-x",
)
row(
    "`assert` of data, with a message or without",
    CHECK,
    """
    def f(x):
        assert np.all(x > 0), "not positive"
        assert x.sum() < 100
        return 1 / x
    """,
    raises="100 * x",
)
row(
    "`raise` in a helper, in a method, in a branch, of the user's own class, `from` another",
    CHECK,
    """
    class BadInput(ValueError): pass

    def root(v):
        if v < 0:
            raise BadInput("negative") from KeyError(0)
        return v**0.5

    def f(x):
        return root(x[0]) + root(x[1])
    """,
    raises="-x",
)
row(
    "a number in its message, in any format",
    CHECK,
    """
    def f(x):
        total = x.sum()
        if total < 0:
            raise ValueError(f"the sum is {total:.3f}, which is {total!r}")
        return x / total
    """,
    raises="-x",
)
row(
    "the same by `%`",
    CHECK,
    """
    def f(x):
        total = x.sum()
        if total < 0:
            raise ValueError("the sum is %8.2f|%+e|%s, 5%% of %s" % (total, total, total, x.shape))
        return x / total
    """,
    raises="-x",
)
row(
    "`raise` in a loop: the first iteration that raises counts",
    KERNEL,
    """
    def f(x):
        total = 0.0
        for k in range(1000):
            if x[k % 3] * k > 3000:
                raise OverflowError(f"in step {k}")
            total += x[k % 3]
        return total
    """,
    raises="2 * x",
)
row(
    "`while` that ends by an exception",
    KERNEL,
    """
    def f(x):
        r, steps = 1.0, 0
        while abs(r * r - x[0]) > 1e-9:
            r = 0.5 * (r + x[0] / r)
            steps += 1
            if steps > 50:
                raise RuntimeError(f"no convergence after {steps} steps")
        return r
    """,
    raises="-x",
)
row(
    "`raise` on an integer argument: one program for all values",
    CHECK,
    """
    def f(x, n):
        if n < 0:
            raise ValueError(f"n is {n}")
        return x * n
    """,
    "x, 3",
    raises="x, -3",
)
row(
    "in `with np.errstate(...)`, in a `try` that has only a `finally`",
    CHECK,
    """
    def f(x):
        y = 2 * x
        with np.errstate(all="ignore"):
            try:
                if x[0] < 0:
                    raise ValueError("negative")
            finally:
                y = y + 1
        return y
    """,
    raises="-x",
)

row(
    "an index of data out of range in `try: v = x[i]` with an `except IndexError`",
    BRANCH,
    """
    def f(x):
        i = np.argmax(x) + 1
        try:
            v = np.sort(x)[i] * np.cumsum(x)
        except IndexError:
            v = -np.cumsum(x)
        return v
    """,
)

# --------------------------------------------------------------------------------------------------
section("Refused")

row(
    "a variable whose dtype, shape or structure changes from one iteration to the next",
    "PYC1106",
    """
    def f(x, n):
        y = x[:1]
        for i in range(n):  # refused
            y = np.concatenate([y, x])
        return y
    """,
    "x, np.array(3)",
)
row(
    "a variable that differs between the sides of an `if`, where it is used",
    "PYC1106",
    """
    def f(x):
        if x[0] > 1:
            y = x
        else:
            y = x[:2]
        return y.sum()  # refused
    """,
)
row(
    "a loop that cannot be an op, up to a bound that depends on data",
    "PYC1106",
    """
    def f(x, n):
        out = []
        for i in range(n):  # refused
            out.append(x)
        return out
    """,
    "x, np.array(3)",
)
row(
    "a list that grows in a `while`, on a branch, or up to a bound, that depends on data",
    "PYC1106",
    """
    def f(x):
        history = []
        while x.sum() > 1:  # refused
            x = 0.5 * x
            history.append(x)
        return np.array(history)
    """,
)
row(
    "a variable that gets no value, when the program runs",
    "PYC1107",
    """
    def f(x, n):
        for i in range(n):  # refused
            y = x * i
        return y
    """,
    "x, 0",
)
row(
    "names of one array that a loop changes in place, and assigns",
    "PYC1106",
    """
    def f(x, n):
        a = x.copy()
        b = a
        for i in range(n):  # refused
            a[0] += 1
            a, b = b, a
        return a, b
    """,
    "x, np.array(3)",
)
row(
    "an array that is changed while another may be the same, depending on data",
    "PYC1100",
    """
    def f(x):
        a, b = x.copy(), 2 * x
        c = a if x[0] > 1 else b
        c[0] = 5  # refused
        return a
    """,
)
row(
    "`raise` that depends on data in a `try` with an `except`, or in a `with` that may catch it",
    "PYC1100",
    """
    def f(x):
        try:
            if x[0] > 1:
                raise ValueError("too large")  # refused
        except ValueError:
            x = x / 2
        return x
    """,
)
row(
    "several numbers of the program, or an array, in the message of an exception",
    "PYC1100",
    """
    def f(x):
        if x[0] > 1:
            raise ValueError(f"{x} is too large")  # refused
        return x
    """,
)
row(
    "a loop each of whose iterations raises",
    "PYC1100",
    """
    def f(x):
        while x[0] > 0:
            x = x - 1
            raise ValueError("always")  # refused
        return x
    """,
)
row(
    "a step of a `range` that depends on data",
    "PYC1100",
    """
    def f(x, n):
        for i in range(0, 10, n):  # refused
            x = x + i
        return x
    """,
    "x, np.array(3)",
)
row(
    "truth of an array of several elements",
    "PYC1102",
    """
    def f(x):
        while x > 0:  # refused
            x = x - 1
        return x
    """,
)
