"""Programs that choose by data: conditions of comprehensions, `match`, sorting by keys."""

import itertools
from dataclasses import dataclass
from typing import Any

import numpy as np

from tests.errors.case import given

LINE = np.array([0.5, -1.25, 3.0, 2.0, -0.75, 4.5, 3.0])
WHOLE = np.array([3, 1, 4, 1, 5, 9, 2, 6])
TABLE = np.arange(12.0).reshape(3, 4) % 5


@dataclass
class Point:
    x: Any
    y: Any


# --- comprehensions -------------------------------------------------------------------------------


@given(LINE)
def sums_of_what_fits(x):
    return (
        sum(v for v in x if v > 0),
        sum([v for v in x if v > 0]),
        sum((v for v in x if v > 100), 1.5),
        sum(1 for a, b in itertools.pairwise(x) if a < b),
        sum(a * b for a in x[:3] for b in x[3:] if a * b > 0),
        sum(v for v in x if 0 < v < 3),
        sum(v for v in x if (v > 0 and v < 3) or v == 4.5),
        sum(y for v in x if (y := v * 2) > 0),
        len([v for v in x if v > 0]),
    )


@given(LINE)
def extremes_of_what_fits(x):
    return (
        max(v for v in x if v < 3.1),
        min([v for v in x if v > 0]),
        max((v for v in x if v > 100), default=7.0),
        min((v for v in x if v < 2), key=abs),
        any(v > 3 for v in x if v < 4),
        all(v > 1 for v in x if v > 0.6),
    )


@given(LINE)
def the_first_that_fits(x):
    return (
        next(v for v in x if v > 1),
        next(i for i, v in enumerate(x) if v > 1),
        next((v for v in x if v > 100), -1.0),
        next(filter(lambda v: v > 1, x)),
    )


@given(LINE)
def elements_that_are_known_to_fit(x):
    rest = (v for i, v in enumerate(x) if i > 1)
    return next(rest), next(rest), list(rest), list(filter(None, [1, 0, 2]))


@given(LINE, 3)
def elements_that_a_number_chooses(x, n):
    return [v for k, v in enumerate(x) if k < n]


@given(LINE)
def arrays_of_what_fits(x):
    return (
        np.array([v * 2 for v in x if v > 0]).sum(),
        np.mean([v for v in x if v > 0]),
        np.sum([v**2 for v in x if v > 0 if v < 4]),
        np.asarray([v for v in x if v > 0]).max(),
        np.array([v for v in x if v > 0], dtype=np.float32).std(),
        np.array([[i, v] for i, v in enumerate(x) if v > 0]).sum(axis=0),
        len(np.array([v for v in x if v > 0])),
        np.array(x[x > 0]).sum(),
    )


@given(TABLE)
def rows_that_fit(m):
    return (
        np.array([r for r in m if r.sum() > 6]).sum(axis=0),
        sum(r.sum() for r in m if r[0] > 0),
    )


@given(LINE)
def loops_over_what_fits(x):
    s = 0.0
    for v in (u for u in x if u > 0):
        s += v * 2
    for v in [u for u in x if u > 1]:
        s -= v
        if s < 12:
            break
    if not [v for v in x if v > 100]:
        s += 100
    return s


@given(LINE, WHOLE)
def elements_computed_only_where_they_fit(x, k):
    return sum(x[i] for i in k if i < 7), sum(int(v) for v in k if v % 2 == 0)


@given(LINE)
def what_fits_in_a_loop(x):
    n, t = 0, 0.0
    for i in range(len(x)):
        n += sum(1 for j in range(i) if x[j] < x[i])
    for _ in range(100):
        t += sum(v for v in x if v > t) * 0.001
    return n, t


@given(LINE)
def filtered(x):
    def best(values, fits):
        return max(filter(fits, values), default=0.0)

    return best(x, lambda v: v < 2), best(x, lambda v: v > 100), sum(filter(None, x))


@given(WHOLE)
def integers_that_keep_their_type_on_a_side(k):
    v, y = k[0], 0
    if v % 2 == 1:
        y = int(v)
    return y, [int(u) if u % 2 == 0 else 0 for u in k]


# --- match ----------------------------------------------------------------------------------------


@given(LINE)
def guards_on_data(x):
    match x.sum():
        case s if s > 100:
            r = 1.0
        case s if s > 5:
            r = s
        case _:
            r = 3.0
    return r


@given(LINE, 2)
def values_of_a_number(x, n):
    match n:
        case 0:
            return x
        case 1 | 2:
            y = x * 2
        case 3:
            y = x * 3
        case k:
            y = x * k
    return y + 1


@given(LINE)
def values_of_data(x):
    total = 0.0
    for v in x:
        match v:
            case 0.5 | 2:
                total += 1
            case u if u > 4:
                break
            case u if u < 0:
                continue
            case u:
                total += u
    return total


@given(LINE)
def shapes_with_guards(x):
    match x.shape:
        case (n,) if n > 10:
            return x[:3]
        case (n,):
            y = x * n
        case _:
            y = x
    match x.ndim:
        case 1 if x.sum() > 0:
            y = y * 2
        case 1:
            y = y * 3
    return y


@given(LINE)
def patterns_with_guards_on_data(x):
    match Point(x[0], 2):
        case Point(x=a, y=2) if a > 0:
            first = a
        case Point(x=a, y=b):
            first = a * b
    match {"k": x, "n": 3}:
        case {"k": k, "n": 3, **rest} if len(rest) == 0 and k[0] > 0.6:
            second = k * 2
        case {"k": k}:
            second = k * 5
    match [x[0], x[1]]:
        case [a, b] if a > b:
            c = a - b
        case [a, *_]:
            c = a
    return first, second, c


@given(LINE, "square")
def texts_with_guards(x, name):
    match name:
        case "square":
            return x**2
        case "same" if x.ndim == 1:
            return x
        case _:
            raise ValueError(name)


# --- order ----------------------------------------------------------------------------------------


@given(LINE)
def numbers_sorted_by_keys(x):
    return (
        sorted(x, key=abs),
        sorted(x, key=lambda v: -v),
        sorted(x, key=abs, reverse=True),
        sorted([float(v) for v in x], key=lambda v: v * v),
    )


@given(LINE)
def places_sorted(x):
    order = sorted(range(len(x)), key=lambda i: x[i])
    ranks = np.zeros(len(x))
    for rank, i in enumerate(order):
        ranks[i] = rank
    return order, sorted(range(len(x)), key=x.__getitem__, reverse=True), ranks


@given(TABLE)
def rows_sorted(m):
    return sorted(m, key=lambda r: r[0]), np.array(sorted(m, key=np.sum, reverse=True))


@given(WHOLE)
def integers_sorted_by_keys(k):
    return (
        sorted(k, key=lambda v: v % 3),
        sorted(k, key=lambda v: v % 3, reverse=True),
        sorted(k, key=lambda v: v > 3),
    )


@given(np.array([1.0, np.nan, 3, np.inf]), WHOLE)
def medians_of_what_a_mask_selects(x, k):
    return (
        np.median(x[x > 0]),
        np.median(x[x > 2]),
        np.median(x[~np.isnan(x)]),
        np.median(x[x < -1]),
        np.median(x[~(x > 10)]),
        np.median(k[k > 2]),
        np.median([v for v in k if v > 3]),
    )


# --- membership -----------------------------------------------------------------------------------


@given(LINE)
def members(x):
    return (
        3.0 in x,
        3.0 not in x,
        x[0] in [0.5, 2.0],
        x[0] in [None, 0.5],
        None in [x[0], None],
        x[0] not in (0.5, x[1]),
        3 in [1, 2, 3],
        "a" in {"a": 1},
        "b" not in "abc",
    )


@given(LINE)
def member_alone(x):
    return x[0] in [None, 0.5]


@given(LINE)
def decisions_by_members(x):
    n = 0
    for v in x:
        if v in (0.5, 3.0):
            n += 1
    while n not in (5, 6) and n < 10:
        n += 1
    return n, (1.0 if x[0] in (0.5, 7) else 2.0)


@given(LINE)
def counts_of_known_numbers(x):
    return x * np.bincount(np.array([0, 1, 1]))[1]
