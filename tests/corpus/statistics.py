"""Statistics of samples: moments, ranks, histograms, tests, regressions."""

from __future__ import annotations

import math
from collections import namedtuple
from functools import partial

import numpy as np

from tests.corpus.case import Case, integers, samples, uniform

Summary = namedtuple("Summary", "mean std minimum median maximum")
EPSILON = np.finfo(float).eps


class RunningMoments:
    """Welford's algorithm as an object that changes with each value."""

    def __init__(self):
        self.count = 0
        self.mean = 0.0
        self.m2 = 0.0

    def add(self, value):
        self.count += 1
        delta = value - self.mean
        self.mean += delta / self.count
        self.m2 += delta * (value - self.mean)

    @property
    def variance(self):
        return self.m2 / (self.count - 1)


def welford(x):
    """Mean and variance by an object of a user's class."""
    moments = RunningMoments()
    for value in x:
        moments.add(value)
    return moments.mean, moments.variance


def summarise(x):
    """Five numbers of a sample, as a named tuple."""
    return Summary(np.mean(x), np.std(x, ddof=1), np.min(x), np.median(x), np.max(x))


def weighted_mean_and_error(values, errors):
    """The mean weighted by inverse variances, and its error."""
    weights = 1.0 / errors**2
    mean = np.average(values, weights=weights)
    return mean, np.sqrt(1.0 / weights.sum())


def covariance(x, y):
    """Covariance and correlation of two samples."""
    dx, dy = x - np.mean(x), y - np.mean(y)
    c = np.sum(dx * dy) / (len(x) - 1)
    return c, c / (np.std(x, ddof=1) * np.std(y, ddof=1))


def correlation_matrix(data):
    """The correlations of the columns."""
    centred = data - data.mean(axis=0, keepdims=True)
    c = centred.T @ centred / (data.shape[0] - 1)
    d = np.sqrt(np.diag(c))
    c /= d[:, None]
    c /= d[None, :]
    return np.clip(c, -1, 1)


def standardise(data, axis=0):
    """Scores with zero mean and unit variance; constant columns stay zero."""
    mu = data.mean(axis=axis, keepdims=True)
    sigma = data.std(axis=axis, keepdims=True)
    sigma[sigma == 0] = 1.0
    return (data - mu) / sigma


def skewness_kurtosis(x):
    """The third and fourth standardised moments."""
    m = x.mean()
    m2, m3, m4 = (np.mean((x - m) ** k) for k in (2, 3, 4))
    return m3 / m2**1.5, m4 / m2**2 - 3


def trimmed_mean(x, proportion=0.1):
    """The mean without the extremes."""
    ordered = np.sort(x)
    cut = int(proportion * len(x))
    return ordered[cut : len(x) - cut].mean()


def median_absolute_deviation(x, axis=-1):
    """The MAD, scaled to the normal distribution."""
    centre = np.median(x, axis=axis, keepdims=True)
    return 1.4826 * np.median(np.abs(x - centre), axis=axis)


def replace_outliers(x, limit=2.0):
    """Values beyond the limit are replaced by the median, in a copy."""
    cleaned = x.copy()
    z = (x - x.mean()) / x.std()
    cleaned[np.abs(z) > limit] = np.median(x)
    return cleaned


def ranks(x):
    """Ranks from one, by sorting twice."""
    order = x.argsort()
    result = np.empty(len(x), dtype=int)
    result[order] = np.arange(1, len(x) + 1)
    return result


def spearman(x, y):
    """Spearman's rank correlation."""
    rx, ry = ranks(x), ranks(y)
    d = rx - ry
    n = len(x)
    return 1 - 6 * np.sum(d**2) / (n * (n**2 - 1))


def histogram_by_loop(x, edges):
    """Counts in bins, one value at a time."""
    counts = np.zeros(len(edges) - 1, dtype=np.int64)
    for value in x:
        for b in range(len(counts)):
            if edges[b] <= value < edges[b + 1]:
                counts[b] += 1
                break
    return counts


def histogram_by_index(x, bins, lower, upper):
    """Counts in equal bins by index arithmetic and np.add.at."""
    position = ((x - lower) / (upper - lower) * bins).astype(int)
    position = np.clip(position, 0, bins - 1)
    counts = np.zeros(bins, dtype=int)
    np.add.at(counts, position, 1)
    return counts


def normalised_histogram(x, edges):
    """Densities in given bins by np.histogram."""
    counts, _ = np.histogram(x, bins=edges)
    return counts / (counts.sum() * np.diff(edges))


def digitised_means(x, y, edges):
    """The mean of y in bins of x."""
    which = np.digitize(x, edges)
    return np.array([y[which == b].mean() for b in range(1, len(edges))])


def grouped_sums(labels, values, groups):
    """Sums, counts and means of groups by np.bincount."""
    totals = np.bincount(labels, weights=values, minlength=groups)
    counts = np.bincount(labels, minlength=groups)
    return totals / np.maximum(counts, 1)


def mode_of_integers(x):
    """The most frequent small integer."""
    return np.argmax(np.bincount(x, minlength=10))


def ecdf_distance(x, y):
    """The Kolmogorov-Smirnov distance of two samples."""
    x, y = np.sort(x), np.sort(y)
    everything = np.concatenate([x, y])
    cdf_x = np.searchsorted(x, everything, side="right") / len(x)
    cdf_y = np.searchsorted(y, everything, side="right") / len(y)
    return np.max(np.abs(cdf_x - cdf_y))


def welch_t(x, y):
    """Welch's statistic and its degrees of freedom."""
    vx, vy = np.var(x, ddof=1) / x.size, np.var(y, ddof=1) / y.size
    t = (x.mean() - y.mean()) / np.sqrt(vx + vy)
    df = (vx + vy) ** 2 / (vx**2 / (x.size - 1) + vy**2 / (y.size - 1))
    return {"t": t, "df": df}


def mann_whitney(x, y):
    """The U statistic by comparing all pairs."""
    wins = (x[:, None] > y).sum()
    ties = np.sum(x[:, None] == y[None])
    return wins + 0.5 * ties


def bootstrap_interval(x, picks):
    """A 90 per cent interval of the mean from given resamples."""
    means = x[picks].mean(axis=1)
    low, high = np.percentile(means, [5, 95])
    return low, high


def jackknife(x, statistic=np.mean):
    """The jackknife estimate of a standard error."""
    n = len(x)
    left_out = np.array([statistic(np.delete(x, i)) for i in range(n)])
    return np.sqrt((n - 1) / n * np.sum((left_out - left_out.mean()) ** 2))


def linear_fit(x, y):
    """Slope, intercept and the share of variance explained."""
    n = len(x)
    slope = (n * (x * y).sum() - x.sum() * y.sum()) / (n * (x**2).sum() - x.sum() ** 2)
    intercept = y.mean() - slope * x.mean()
    residual = y - (slope * x + intercept)
    r2 = 1 - residual @ residual / np.sum((y - y.mean()) ** 2)
    return slope, intercept, r2


def ridge(design, y, penalty=0.1):
    """Ridge regression by the normal equations."""
    gram = design.T @ design
    gram[np.diag_indices_from(gram)] += penalty
    return np.linalg.solve(gram, design.T @ y)


def kernel_density(points, data, bandwidth=0.4):
    """A Gaussian kernel density estimate."""
    z = (points[:, np.newaxis] - data[np.newaxis, :]) / bandwidth
    return np.exp(-0.5 * z**2).sum(axis=1) / (len(data) * bandwidth * math.sqrt(2 * math.pi))


def entropy(p, base=None):
    """Shannon entropy of weights that need not sum to one."""
    p = np.asarray(p, dtype=float)
    p = p / p.sum()
    h = -np.sum(np.where(p > 0, p * np.log(p + EPSILON), 0.0))
    if base is not None:
        h /= np.log(base)
    return h


def mutual_information(joint):
    """Mutual information of a table of joint counts."""
    p = joint / joint.sum()
    px = p.sum(axis=1, keepdims=True)
    py = p.sum(axis=0, keepdims=True)
    expected = px * py
    positive = p > 0
    return np.sum(p[positive] * np.log(p[positive] / expected[positive]))


def gini(x):
    """The Gini coefficient."""
    x = np.sort(x)
    n = x.shape[0]
    index = np.arange(1, n + 1)
    return np.sum((2 * index - n - 1) * x) / (n * np.sum(x))


def quantile_normalise(data):
    """Columns with one common distribution."""
    order = np.argsort(data, axis=0)
    rank = np.argsort(order, axis=0)
    means = np.sort(data, axis=0).mean(axis=1)
    return means[rank]


def power_means(x):
    """Several power means by functools.partial."""

    def power_mean(values, p):
        return np.mean(values**p) ** (1 / p)

    means = [partial(power_mean, p=p) for p in (1, 2, 3)]
    return [mean(x) for mean in means]


CASES = [
    Case(welford, lambda: (samples(15),)),
    Case(summarise, lambda: (samples(21),)),
    Case(weighted_mean_and_error, lambda: (samples(10), 0.5 + uniform(10))),
    Case(covariance, lambda: (samples(20), samples(20, seed=1))),
    Case(correlation_matrix, lambda: (samples(20, 4),)),
    Case(standardise, lambda: (samples(12, 5),)),
    Case(skewness_kurtosis, lambda: (samples(30),)),
    Case(trimmed_mean, lambda: (samples(30),)),
    Case(median_absolute_deviation, lambda: (samples(4, 15),)),
    Case(replace_outliers, lambda: (samples(30),)),
    Case(ranks, lambda: (samples(20),)),
    Case(spearman, lambda: (samples(20), samples(20, seed=1))),
    Case(histogram_by_loop, lambda: (samples(12), np.array([-2.0, -1.0, 0.0, 1.0, 2.0]))),
    Case(histogram_by_index, lambda: (samples(50), 8, -3.0, 3.0)),
    Case(normalised_histogram, lambda: (samples(50), np.linspace(-3, 3, 9))),
    Case(digitised_means, lambda: (samples(60), uniform(60), np.array([-1.0, 0.0, 1.0]))),
    Case(grouped_sums, lambda: (integers(30, high=4), samples(30), 4)),
    Case(mode_of_integers, lambda: (integers(30, high=10),)),
    Case(ecdf_distance, lambda: (samples(20), samples(15, seed=1))),
    Case(welch_t, lambda: (samples(20), samples(15, seed=1))),
    Case(mann_whitney, lambda: (samples(20), samples(15, seed=1))),
    Case(bootstrap_interval, lambda: (samples(20), integers(40, 20, high=20))),
    Case(jackknife, lambda: (samples(12),)),
    Case(linear_fit, lambda: (samples(20), samples(20, seed=1))),
    Case(ridge, lambda: (samples(20, 3), samples(20, seed=1))),
    Case(kernel_density, lambda: (np.linspace(-3, 3, 11), samples(30))),
    Case(entropy, lambda: (uniform(10), 2)),
    Case(mutual_information, lambda: (integers(4, 5, high=9),)),
    Case(gini, lambda: (uniform(20),)),
    Case(quantile_normalise, lambda: (samples(10, 3),)),
    Case(power_means, lambda: (uniform(15),)),
]
