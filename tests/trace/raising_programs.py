"""Functions that raise where data say so; `test_raising.py` calls each with data of all kinds."""

from __future__ import annotations

import numpy as np


class SingularError(ArithmeticError):
    """An exception with more than a message."""

    def __init__(self, row, *, hint):
        super().__init__(f"row {row} is zero")
        self.row, self.hint = row, hint


def before_the_work(x):
    if (x < 0).any():
        raise ValueError("negative")
    return np.sqrt(x)


def nobody_reads_what_is_checked(x):
    y = x.copy()
    y[0] = 1
    if x[1:].sum() > 100:
        raise OverflowError
    return x.shape[0]


def asserted(x):
    assert np.all(x > 0), "not positive"
    assert x.sum() < 100
    return 1 / x


def the_first_counts(x):
    if x[0] < 0:
        raise ValueError("first")
    if x[1] < 0:
        raise TypeError("second")
    y = x[int(np.argmax(x))]
    if x[2] < 0:
        raise KeyError("third")
    return y


def one_of_many(x):
    if x[0] < -9:
        raise ValueError("small")
    if x[0] < 0:
        raise ValueError("negative")
    if x[0] > 100:
        raise OverflowError("large")
    return x * 2


def otherwise(x):
    if np.isfinite(x).all():
        y = x + 1
    else:
        raise FloatingPointError("not finite")
    return y


def beside_other_work(x):
    if x[0] > 0:
        y = np.cumsum(x)
        if y[-1] > 100:
            raise ValueError("the sum")
    else:
        y = -x
    return y


def several_in_a_branch(x):
    if x[0] < 0:
        if x[1] < 0:
            raise ValueError("both")
        raise TypeError("the first")
    return x + 1


def after_a_loop_in_a_branch(x):
    if x[0] < 0:
        total = 0.0
        for v in x:
            if v > 50:
                raise ValueError("in the loop")
            total += v
        raise TypeError("after it")
    return x


def by_a_helper(x):
    return _root(x[0]) + _root(x[1])


def _root(v):
    if v < 0:
        raise ArithmeticError(f"root of {v}")
    return np.sqrt(v)


def a_number_in_the_text(x):
    total = x.sum()
    if total > 100:
        raise ValueError(f"{total} is too much, that is {total:.3e} ({total!r})", total)
    return x


def an_integer_in_the_text(x):
    k = np.argmin(x)
    if x[k] < 0:
        raise IndexError("element {} is negative".format(k))  # noqa: UP032
    return x


def a_single_in_the_text(x):
    least = x.astype(np.float32).min()
    if least < 0:
        raise ValueError("least: " + str(least))
    return x


def of_its_own_class(x):
    for k in range(3):
        if x[k] == 0:
            raise SingularError(k, hint="scale it")
    return 1 / x


def with_a_cause(x):
    if x[0] < 0:
        raise RuntimeError("no") from ValueError("why")
    return x


def in_a_loop(x):
    total = 0.0
    for i in range(len(x)):
        if x[i] < 0:
            raise ValueError(f"element {i} is negative")
        total += np.sqrt(x[i])
    return total


def before_an_index(x):
    total = 0.0
    for i in range(40):
        if i >= len(x):
            raise KeyError(i)
        total += x[i]
        if x[i] < 0:
            break
    return total


def two_in_a_loop(x):
    total = 0.0
    for v in x:
        if v > 50:
            raise OverflowError(f"{v} is large")
        if v < 0:
            raise ValueError(f"{v} is negative")
        total += v
    return total


def in_a_loop_over_arrays(x):
    y = x.copy()
    for _ in range(50):
        y = np.cumsum(y) / y.sum()
        assert np.isfinite(y).all(), "diverged"
    return y


def without_convergence(x):
    root, steps = 1.0, 0
    while abs(root * root - x[0]) > 1e-9:
        root = 0.5 * (root + x[0] / root)
        steps += 1
        if steps > 60:
            raise RuntimeError(f"no convergence after {steps} steps")
    return root


def only_an_exception_ends_it(x):
    n = 0
    while True:
        n += 1
        if n > 1000:
            raise TimeoutError("too long")
        if n * x[0] > 10:
            return n


def checked_before_an_endless_loop(x):
    if x[0] <= 0:
        raise ValueError("the step must be positive")
    t = 0.0
    while t < 10:
        t += x[0]
    return t


def no_break(x):
    for v in x:
        if v > 1:
            break
    else:
        raise LookupError("none above 1")
    return v


def in_the_test_of_a_loop(x):
    t, n = x[0], 0
    while _root(t) > 1:
        t = t - 7
        n += 1
    return n


def with_warnings_off(x):
    with np.errstate(divide="ignore"):
        if (x == 0).any():
            raise ZeroDivisionError("a zero")
        return 1 / x


def at_the_end(x):
    y = x * 2
    try:
        if x[0] < 0:
            raise ValueError("negative")
    finally:
        y = y + 1
    return y


def one_that_it_catches_itself(x):
    if x[0] < 0:
        try:
            raise ValueError("negative")
        except ValueError:
            y = -x
    else:
        y = x
    return y


def else_of_a_loop_that_returns(x):
    y = x
    for k in range(20):
        new = 0.5 * (y + 2 / y)
        if np.max(np.abs(new - y)) < 1e-8:
            return new * k
        y = new
    else:
        raise SingularError(k, hint="more")


def else_of_loops_in_loops(x):
    for k in range(30):
        for v in x:
            if v + k < 0:
                break
            if v > 100 + k:
                return v * k
        else:
            raise ValueError("none is negative")
    else:
        raise ArithmeticError("too many")


def else_of_while(x):
    k = 0.0
    while k < x[0]:
        if x[1] < 0:
            return k
        k += 1
    else:
        if x[2] > 20:
            raise ValueError("third")
        k = -k
    return k + x[2]


def after_an_index_that_fails_too(x):
    """What the index reads is needed behind the check only."""
    found = np.arange(50.0)[np.where(x > 100, 5000, 7)]
    if np.any(x > 55):
        raise ValueError("large")
    return found + 2 * x
