"""Programs that use Python's library, and its operators beside arrays."""

import statistics
from statistics import mean

import numpy as np

from tests.errors.case import given

LINE = np.array([0.5, -1.25, 3.0, 2.0, -0.75, 4.5])


@given(7)
def powers_by_a_modulus(n):
    return (
        pow(n, 2, 5),
        pow(n, 0, 5),
        pow(n, 0, 1),
        pow(-n, 3, 5),
        pow(n, 3, -5),
        pow(n, 13, 1000003),
        pow(2, n, 5),
        pow(n, n, 7),
        pow(n, -1, 31),
        pow(n, 3, 10**12),
        pow(True, 2, 3) * n,
    )


@given(np.array([3, 1, 4]))
def powers_of_elements_by_a_modulus(k):
    return [pow(int(v), 2, 5) for v in k]


@given(LINE)
def averages_of_the_library(x):
    return (
        statistics.mean(x),
        statistics.fmean(x),
        statistics.fmean(x, np.abs(x)),
        mean(x[:5]),
        statistics.mean(v * 2 for v in x),
        statistics.mean([float(v) for v in x]),
        statistics.mean([1.0, 2.0]),
    )


@given(LINE)
def spreads_of_the_library(x):
    return (
        statistics.stdev(x),
        statistics.pstdev(x),
        statistics.variance(x),
        statistics.variance(x, statistics.mean(x)),
        statistics.pvariance(x),
    )


@given(LINE)
def medians_of_the_library(x):
    return (
        statistics.median(x),
        statistics.median(x[1:]),
        statistics.median_low(x),
        statistics.median_high(x),
    )


@given(LINE)
def too_few_for_the_library(x):
    try:
        return statistics.mean(x[:0])
    except statistics.StatisticsError:
        return x[0]


@given(LINE, 3)
def lists_beside_scalars(x, n):
    return (
        x[0] + [1, 2],
        [1.0, x[0]] + [x[1]] * n,
        n * [1, 2],
        [3] * n,
        n == [1, 2],
        x[0] == [0.5, 2],
    )
