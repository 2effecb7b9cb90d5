"""A share price: smoothed by a Kalman filter, and options on it priced by Black and Scholes.

The filter follows level and trend of the logarithm of the price (a local linear trend model,
Harvey 1989). The option prices are those of Black and Scholes (1973), with the volatility measured
from the series.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from pyc.demo.data import sample
from pyc.demo.program import Program
from pyc.lax import scan
from pyc.numpy import erf

Array = np.ndarray[Any, Any]
NOISE, LEVEL, TREND = 4e-4, 1e-4, 1e-6


def filter_step(state: Any, price: Any) -> tuple[Any, Any]:
    """One observation. state: (level, trend, p00, p01, p11), all scalars."""
    level, trend, p00, p01, p11 = state
    level, p00, p01, p11 = level + trend, p00 + 2 * p01 + p11 + LEVEL, p01 + p11, p11 + TREND
    gain = p00 / (p00 + NOISE), p01 / (p00 + NOISE)
    error = price - level
    level, trend = level + gain[0] * error, trend + gain[1] * error
    p00, p01, p11 = p00 - gain[0] * p00, p01 - gain[0] * p01, p11 - gain[1] * p01
    return (level, trend, p00, p01, p11), (level, trend)


def smooth(logs: Any) -> tuple[Any, Any]:
    """Level and trend after each observation. logs: (days,)."""
    start = (logs[0], logs[0] * 0, logs[0] * 0 + 1.0, logs[0] * 0, logs[0] * 0 + 1.0)
    _, (level, trend) = scan(filter_step, start, logs)
    return level, trend


def smooth_numpy(logs: Array) -> tuple[Array, Array]:
    """`smooth` as a Python loop."""
    state = (logs[0], 0.0, 1.0, 0.0, 1.0)
    rows = []
    for price in logs:
        state, row = filter_step(state, price)
        rows.append(row)
    level, trend = zip(*rows, strict=True)
    return np.array(level), np.array(trend)


def logarithms() -> tuple[Array]:
    """The logarithm of each closing price of `goog.npz`."""
    return (np.log(np.load(sample("goog.npz"))["price_data"]["close"]),)


def normal(x: Any) -> Any:
    """The distribution function of the standard normal."""
    return 0.5 * (1 + erf(x / np.sqrt(2.0)))


def options(price: Any, strike: Any, years: Any, volatility: Any, rate: float) -> tuple[Any, Any]:
    """Prices of calls and puts, element by element."""
    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    d2 = d1 - spread
    owed = strike * np.exp(-rate * years)
    call = price * normal(d1) - owed * normal(d2)
    return call, call - price + owed


def options_numpy(
    price: Array, strike: Array, years: Array, volatility: Array, rate: float
) -> tuple[Array, Array]:
    """`options` with a distribution function that NumPy has: by the series of Marsaglia (2004)."""

    def phi(x: Array) -> Array:
        x = np.clip(x, -9, 9)
        total, term = x.copy(), x.copy()
        for k in range(3, 240, 2):
            term = term * x * x / k
            total = total + term
        return np.asarray(0.5 + total * np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi))

    spread = volatility * np.sqrt(years)
    d1 = (np.log(price / strike) + (rate + 0.5 * volatility**2) * years) / spread
    owed = strike * np.exp(-rate * years)
    call = price * phi(d1) - owed * phi(d1 - spread)
    return call, call - price + owed


def markets() -> tuple[Any, ...]:
    """Each day's price against 200 strikes: float64 arrays of (days, 200), and the rate."""
    (logs,) = logarithms()
    change = np.diff(logs, prepend=logs[:1])
    window = np.lib.stride_tricks.sliding_window_view(np.pad(change, (20, 0)), 21)
    volatility = np.maximum(window.std(axis=1) * np.sqrt(252), 0.05)
    price = np.exp(logs)[:, None] * np.ones(200)
    strike = price * np.linspace(0.7, 1.4, 200)
    years = np.broadcast_to(np.linspace(0.1, 2, 200), price.shape).copy()
    return price, strike, years, volatility[:, None] * np.ones(200), 0.03


KALMAN = Program(
    name="kalman",
    title="Kalman filter over 1,047 share prices",
    function=smooth,
    reference=smooth_numpy,
    arguments=logarithms,
    tolerance=1e-12,
    sample="goog.npz",
)
OPTIONS = Program(
    name="options",
    title="Black-Scholes prices, 209,400 options",
    function=options,
    reference=options_numpy,
    arguments=markets,
    tolerance=1e-11,
    sample="goog.npz",
)
