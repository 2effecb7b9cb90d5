"""Prices, risks and rates."""

from __future__ import annotations

from dataclasses import dataclass
from math import exp, log, sqrt

import numpy as np

from tests.corpus.case import Case, samples, uniform

TRADING_DAYS = 252


@dataclass(frozen=True)
class Option:
    """A European option."""

    spot: float
    strike: float
    rate: float
    volatility: float
    maturity: float
    call: bool = True


@dataclass
class Bond:
    """A bond with yearly coupons."""

    face: float
    coupon: float
    years: int

    def cash_flows(self):
        flows = np.full(self.years, self.face * self.coupon)
        flows[-1] += self.face
        return flows

    def price(self, rate):
        """The present value at a flat rate."""
        return np.sum(self.cash_flows() / (1 + rate) ** np.arange(1, self.years + 1))


def normal_cdf(x):
    """The normal distribution function by Abramowitz and Stegun's polynomial."""
    k = 1.0 / (1.0 + 0.2316419 * np.abs(x))
    poly = k * (
        0.319381530 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429)))
    )
    tail = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi) * poly
    return np.where(x >= 0, 1.0 - tail, tail)


def black_scholes(spot, strike, rate, volatility, maturity):
    """Prices of calls and puts."""
    d1 = (np.log(spot / strike) + (rate + volatility**2 / 2) * maturity) / (
        volatility * np.sqrt(maturity)
    )
    d2 = d1 - volatility * np.sqrt(maturity)
    discount = np.exp(-rate * maturity)
    call = spot * normal_cdf(d1) - strike * discount * normal_cdf(d2)
    put = strike * discount * normal_cdf(-d2) - spot * normal_cdf(-d1)
    return call, put


def greeks(option):
    """Delta, gamma and vega of one option, in a dict, by math functions."""
    root = option.volatility * sqrt(option.maturity)
    d1 = (
        log(option.spot / option.strike) / root
        + (option.rate / option.volatility) * sqrt(option.maturity)
        + root / 2
    )
    density = exp(-0.5 * d1**2) / sqrt(2 * np.pi)
    delta = normal_cdf(d1) if option.call else normal_cdf(d1) - 1
    return {
        "delta": delta,
        "gamma": density / (option.spot * root),
        "vega": option.spot * density * sqrt(option.maturity),
    }


def implied_volatility(price, spot, strike, rate, maturity):
    """Newton's method on the price, all options at once."""
    sigma = np.full_like(price, 0.3)
    for _ in range(12):
        call, _ = black_scholes(spot, strike, rate, sigma, maturity)
        d1 = (np.log(spot / strike) + (rate + sigma**2 / 2) * maturity) / (
            sigma * np.sqrt(maturity)
        )
        vega = spot * np.exp(-0.5 * d1**2) / np.sqrt(2 * np.pi) * np.sqrt(maturity)
        sigma -= (call - price) / np.maximum(vega, 1e-8)
        sigma = sigma.clip(1e-4, 4.0)
    return sigma


def binomial_tree(spot, strike, rate, volatility, maturity, steps=12):
    """An American put on a binomial tree."""
    dt = maturity / steps
    up = np.exp(volatility * np.sqrt(dt))
    down = 1 / up
    p = (np.exp(rate * dt) - down) / (up - down)
    prices = spot * up ** np.arange(steps, -1, -1) * down ** np.arange(0, steps + 1)
    value = np.maximum(strike - prices, 0.0)
    for i in range(steps - 1, -1, -1):
        prices = prices[:-1] * down
        value = np.exp(-rate * dt) * (p * value[:-1] + (1 - p) * value[1:])
        value = np.maximum(value, strike - prices)
    return value[0]


def monte_carlo_call(normals, spot, strike, rate, volatility, maturity):
    """A call by given normal numbers and their negatives; price and error."""
    z = np.concatenate([normals, -normals])
    terminal = spot * np.exp(
        (rate - 0.5 * volatility**2) * maturity + volatility * np.sqrt(maturity) * z
    )
    payoff = np.exp(-rate * maturity) * np.maximum(terminal - strike, 0)
    return payoff.mean(), payoff.std(ddof=1) / np.sqrt(len(payoff))


def asian_option(normals, spot=100.0, strike=100.0, rate=0.03, volatility=0.2):
    """An average-price call on given paths."""
    steps = normals.shape[1]
    dt = 1 / steps
    increments = (rate - volatility**2 / 2) * dt + volatility * np.sqrt(dt) * normals
    paths = spot * np.exp(np.cumsum(increments, axis=1))
    return np.exp(-rate) * np.maximum(paths.mean(axis=1) - strike, 0).mean()


def barrier_option(normals, spot=100.0, barrier=120.0):
    """A knock-out call: paths that touched the barrier pay nothing."""
    alive = np.ones(normals.shape[0], dtype=bool)
    price = np.full(normals.shape[0], spot)
    for t in range(normals.shape[1]):
        price *= np.exp(0.05 * normals[:, t])
        alive &= price < barrier
    payoff = np.where(alive, np.maximum(price - spot, 0), 0)
    return payoff.mean(), alive.sum()


def log_returns(prices):
    """Annualised mean and volatility of logarithmic returns."""
    r = np.diff(np.log(prices))
    return r.mean() * TRADING_DAYS, r.std() * np.sqrt(TRADING_DAYS)


def max_drawdown(prices):
    """The largest fall from a peak."""
    peak = np.maximum.accumulate(prices)
    return np.min(prices / peak - 1)


def sharpe_ratio(returns, risk_free=0.0):
    """Sharpe's and Sortino's ratios."""
    excess = returns - risk_free / TRADING_DAYS
    downside = excess[excess < 0]
    sharpe = np.sqrt(TRADING_DAYS) * excess.mean() / excess.std()
    sortino = np.sqrt(TRADING_DAYS) * excess.mean() / np.sqrt((downside**2).mean())
    return sharpe, sortino


def portfolio_risk(weights, covariance):
    """Volatility of a portfolio and the share of each asset in it."""
    volatility = np.sqrt(weights @ covariance @ weights)
    marginal = covariance @ weights / volatility
    return volatility, weights * marginal / volatility


def minimum_variance(covariance):
    """The portfolio of least variance."""
    ones = np.ones(len(covariance))
    x = np.linalg.solve(covariance, ones)
    return x / x.sum()


def value_at_risk(returns, level=0.95):
    """Historical value at risk and the expected loss beyond it."""
    ordered = np.sort(returns)
    index = int((1 - level) * len(ordered))
    return -ordered[index], -ordered[: index + 1].mean()


def net_present_value(rate, flows):
    """Discounted cash flows."""
    return sum(flow / (1 + rate) ** t for t, flow in enumerate(flows))


def internal_rate(flows):
    """The internal rate of return by bisection with the helper above."""
    low, high = -0.9, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        if net_present_value(middle, flows) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


def amortise(principal, yearly_rate, months):
    """A loan's table: interest, repayment and balance of each month."""
    r = yearly_rate / 12
    payment = principal * r / (1 - (1 + r) ** -months)
    table = np.zeros((months, 3))
    balance = principal
    for m in range(months):
        interest = balance * r
        repaid = payment - interest
        balance -= repaid
        table[m] = interest, repaid, balance
    return table


def bond_yield(price, bond):
    """The yield of a bond by Newton's method with a numerical slope."""
    y = 0.05
    for _ in range(20):
        f = bond.price(y) - price
        slope = (bond.price(y + 1e-6) - bond.price(y - 1e-6)) / 2e-6
        step = f / slope
        y -= step
        if abs(step) < 1e-12:
            break
    return y


def duration(bond, rate):
    """Macaulay's duration and the convexity."""
    t = np.arange(1, bond.years + 1)
    present = bond.cash_flows() / (1 + rate) ** t
    return (t * present).sum() / present.sum(), (t * (t + 1) * present).sum() / present.sum()


def ewma_volatility(returns, decay=0.94):
    """RiskMetrics' variance, recursive."""
    variance = np.empty(returns.shape)
    variance[0] = returns[0] ** 2
    for t in range(1, returns.size):
        variance[t] = decay * variance[t - 1] + (1 - decay) * returns[t - 1] ** 2
    return np.sqrt(variance)


def garch_likelihood(parameters, returns):
    """The log likelihood of a GARCH(1, 1) model."""
    omega, alpha, beta = parameters
    sigma2 = np.var(returns)
    total = 0.0
    for r in returns:
        total += -0.5 * (np.log(2 * np.pi) + np.log(sigma2) + r**2 / sigma2)
        sigma2 = omega + alpha * r**2 + beta * sigma2
    return total


def relative_strength(prices, period=5):
    """Wilder's relative strength index."""
    change = np.diff(prices)
    gain = np.where(change > 0, change, 0.0)
    loss = -np.where(change < 0, change, 0.0)
    average_gain = gain[:period].mean()
    average_loss = loss[:period].mean()
    index = np.full(len(prices), np.nan)
    for i in range(period, len(change)):
        average_gain = (average_gain * (period - 1) + gain[i]) / period
        average_loss = (average_loss * (period - 1) + loss[i]) / period
        index[i + 1] = 100 - 100 / (1 + average_gain / average_loss)
    return index


def bollinger(prices, width=5, k=2.0):
    """Moving mean and bands by sliding windows."""
    windows = np.lib.stride_tricks.sliding_window_view(prices, width)
    mean, std = windows.mean(axis=1), windows.std(axis=1)
    return mean - k * std, mean, mean + k * std


def crossing_signals(prices, fast=3, slow=6):
    """Buy and sell signals of two moving averages, as -1, 0, 1."""

    def average(n):
        return np.convolve(prices, np.ones(n) / n, mode="valid")[-(len(prices) - slow + 1) :]

    position = np.sign(average(fast) - average(slow))
    signals = np.zeros_like(prices)
    signals[slow:] = np.diff(position) / 2
    return signals


def yield_curve(times, parameters):
    """Nelson and Siegel's curve."""
    b0, b1, b2, tau = parameters
    x = times / tau
    load = (1 - np.exp(-x)) / x
    return b0 + b1 * load + b2 * (load - np.exp(-x))


def tax(income):
    """Progressive tax by brackets, in a loop over tuples."""
    brackets = [(0, 0.0), (10_000, 0.2), (40_000, 0.4)]
    due = np.zeros_like(income)
    for (lower, rate), (upper, _) in zip(brackets, [*brackets[1:], (np.inf, 0)]):
        due += rate * np.clip(income - lower, 0, upper - lower)
    return due


def prices(n=30):
    """A path of positive prices."""
    return 100 * np.exp(np.cumsum(0.02 * samples(n)))


CASES = [
    Case(black_scholes, lambda: (90 + 20 * uniform(9), 100.0, 0.03, 0.2, 0.5)),
    Case(greeks, lambda: (Option(100.0, 95.0, 0.02, 0.25, 1.5),)),
    Case(implied_volatility, lambda: (5 + 5 * uniform(5), 100.0, 100 + 5 * uniform(5), 0.01, 1.0)),
    Case(binomial_tree, lambda: (100.0, 105.0, 0.05, 0.2, 1.0)),
    Case(monte_carlo_call, lambda: (samples(50), 100.0, 95.0, 0.02, 0.2, 1.0)),
    Case(asian_option, lambda: (samples(20, 6),)),
    Case(barrier_option, lambda: (samples(20, 6),)),
    Case(log_returns, lambda: (prices(),)),
    Case(max_drawdown, lambda: (prices(),)),
    Case(sharpe_ratio, lambda: (0.01 * samples(40),)),
    Case(portfolio_risk, lambda: (np.full(3, 1 / 3), np.cov(samples(3, 20)))),
    Case(minimum_variance, lambda: (np.cov(samples(3, 20)),)),
    Case(value_at_risk, lambda: (0.01 * samples(60),)),
    Case(net_present_value, lambda: (0.05, [-100.0, 30.0, 40.0, 50.0])),
    Case(internal_rate, lambda: ([-100.0, 30.0, 40.0, 50.0],)),
    Case(amortise, lambda: (10_000.0, 0.05, 12)),
    Case(bond_yield, lambda: (95.0, Bond(100.0, 0.04, 5))),
    Case(Bond(100.0, 0.04, 5).price, lambda: (0.03,)),
    Case(duration, lambda: (Bond(100.0, 0.04, 5), 0.03)),
    Case(ewma_volatility, lambda: (0.01 * samples(20),)),
    Case(garch_likelihood, lambda: ((1e-6, 0.1, 0.85), 0.01 * samples(15))),
    Case(relative_strength, lambda: (prices(15),)),
    Case(bollinger, lambda: (prices(15),)),
    Case(crossing_signals, lambda: (prices(20),)),
    Case(yield_curve, lambda: (np.linspace(0.5, 30, 10), (0.04, -0.02, 0.01, 2.0))),
    Case(tax, lambda: (80_000 * uniform(8),)),
]
