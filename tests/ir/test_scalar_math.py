"""The scalar math functions, evaluated with the NumPy meaning of their instructions.

Errors are bounded by what `docs/numerics.md` proves; there all float32 inputs are run, here samples
of each binade, boundaries and special values, so that a wrong edit is found in seconds. References:
mpmath for float64, this package's float64 functions for float32.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import mpmath as mp
import numpy as np
import pytest

from pyc.ir import dtype as dt
from pyc.ir.dtype import DType
from pyc.ir.evaluate_expr import evaluate
from pyc.ir.expr import Apply, Expr, Interner, Var, postorder
from pyc.ir.ops import division, scalar_math

INF, NAN = math.inf, math.nan
LOGARITHMS = ("log", "log2", "log10", "log1p")
UNARY = (
    *("exp", "exp2", "expm1", *LOGARITHMS, "sin", "cos", "tan", "asin", "acos", "atan"),
    *("sinh", "cosh", "tanh", "cbrt", "erf", "erfc"),
)
# The promise of design.md, section 9, in ULP.
PROMISE = {dt.f32: 1.5, dt.f64: 2.0}
LOOSER = {("erfc", dt.f32): 2.0, ("pow", dt.f32): 2.0}
TYPES = pytest.mark.parametrize("type", [dt.f32, dt.f64], ids=str)


def run(name: str, type: DType, *arguments: object) -> np.ndarray:
    """The function over arrays (or lists) of arguments."""
    arrays = [np.asarray(a, type.numpy) for a in arguments]
    variables = [Var(n, type) for n in "xy"[: len(arrays)]]
    function: Callable[..., Expr] = getattr(scalar_math, name, None) or getattr(division, name)
    (value,) = evaluate([function(*variables)], dict(zip(variables, arrays, strict=True)))
    return value


def exact(name: str, *arguments: float) -> mp.mpf:
    """The true value at finite arguments."""
    x, *rest = map(mp.mpf, arguments)
    with mp.workprec(1300 if abs(x) > 1e18 and name in ("sin", "cos", "tan") else 240):
        if name == "exp2":
            return mp.power(2, x)
        if name == "log2":
            return mp.log(x) / mp.log(2)
        if name == "cbrt":
            return mp.sign(x) * mp.cbrt(abs(x))
        if name == "hypot":
            return mp.sqrt(x * x + rest[0] ** 2)
        return getattr(mp, {"pow": "power"}.get(name, name))(x, *rest)


def ulps(value: float, truth: mp.mpf, type: DType) -> float:
    """|value - truth| in the spacing of `type` at `truth`."""
    bits, least, top = (24, -149, 128) if type is dt.f32 else (53, -1074, 1024)
    if isinstance(truth, mp.mpc) or mp.isnan(truth):
        return 0.0 if math.isnan(value) else INF
    if mp.isinf(truth) or abs(truth) >= mp.mpf(2) ** top:
        return 0.0 if value == float(mp.sign(truth)) * INF else INF
    if math.isnan(value):
        return INF
    unit = mp.mpf(2) ** (max(mp.frexp(truth)[1] - bits, least) if truth else least)
    near = mp.mpf(value) if math.isfinite(value) else mp.mpf(2) ** top * mp.sign(truth)
    return float(abs(near - truth) / unit)


def samples(name: str, type: DType, count: int) -> np.ndarray:
    """Arguments in the function's domain: all binades, usual ranges, near 1, multiples of pi/2."""
    random = np.random.default_rng(17)
    low, high = (-149, 127.9) if type is dt.f32 else (-1074, 1023.9)
    signs = random.choice([-1.0, 1.0], count)
    limits = {"exp": 110, "exp2": 160, "expm1": 90, "sinh": 90, "cosh": 90, "erfc": 11}
    pieces = [
        signs
        * 2.0 ** random.uniform(low, 6.0 if name in limits or name == "tanh" else high, count),
        *(random.uniform(-limit, limit, count) for limit in (1, 4, limits.get(name, 40))),
        1 + random.normal(size=count) * 2.0 ** random.uniform(-20, -2, count),
        random.integers(1, 2**20, count) * (np.pi / 2),
    ]
    if name in (*limits, "erf", "tanh"):
        pieces.pop()
    x = np.concatenate(pieces).astype(type.numpy)
    if name == "log1p":
        return np.where(x <= -1, -x, x)
    if name in LOGARITHMS:
        return np.abs(x[x != 0])
    return x[np.abs(x) <= 1] if name in ("asin", "acos") else x


@TYPES
@pytest.mark.parametrize("name", UNARY)
def test_error_is_within_the_promise(name: str, type: DType) -> None:
    """Samples against mpmath; the exhaustive figures are in docs/numerics.md."""
    x = samples(name, type, 120)
    bound = LOOSER.get((name, type), PROMISE[type])
    for argument, value in zip(x.tolist(), run(name, type, x).tolist(), strict=True):
        assert ulps(value, exact(name, argument), type) <= bound, (argument.hex(), value.hex())


@TYPES
@pytest.mark.parametrize("name", ["pow", "atan2", "hypot"])
def test_error_of_two_arguments_is_within_the_promise(name: str, type: DType) -> None:
    """Samples against mpmath, pow with results of every size."""
    random = np.random.default_rng(3)
    low, high = (-120, 120) if type is dt.f32 else (-1000, 1000)
    x = 2.0 ** random.uniform(low, high, 400)
    x[200:] = random.uniform(0.3, 3, 200)
    y = x * 2.0 ** random.uniform(-8, 8, 400) * random.choice([-1.0, 1.0], 400)
    if name == "pow":
        y = random.uniform(-1.1, 1.1, 400) * high / np.log2(x)
    x, y = x.astype(type.numpy), y.astype(type.numpy)
    bound = LOOSER.get((name, type), PROMISE[type])
    rows = zip(x.tolist(), y.tolist(), run(name, type, x, y).tolist(), strict=True)
    for a, b, value in rows:
        assert ulps(value, exact(name, a, b), type) <= bound, (a.hex(), b.hex(), value.hex())


# (function, arguments, value): C99 Annex F and NumPy.
SPECIAL = [
    *[(name, (NAN,), NAN) for name in UNARY],
    *[(name, (zero,), zero) for zero in (0.0, -0.0) for name in UNARY if name in (
        *("expm1", "log1p", "sin", "tan", "asin", "atan", "sinh", "tanh", "cbrt", "erf"),
    )],
    *[(name, (zero,), 1.0) for zero in (0.0, -0.0) for name in ("exp", "exp2", "cos", "cosh")],
    *[(name, (sign * INF,), NAN) for name in ("sin", "cos", "tan") for sign in (1, -1)],
    *[(name, (zero,), -INF) for name in ("log", "log2", "log10") for zero in (0.0, -0.0)],
    *[(name, (x,), NAN) for name in LOGARITHMS for x in (-2.0, -INF)],
    *[(name, (INF,), INF) for name in (*LOGARITHMS, "exp", "exp2", "expm1", "sinh", "cosh")],
    *[(name, (x,), NAN) for name in ("asin", "acos") for x in (1.0001, -2.0, INF, -INF)],
    *[("exp", (-INF,), 0.0), ("exp2", (-INF,), 0.0), ("expm1", (-INF,), -1.0)],
    *[("log1p", (-1.0,), -INF), ("log", (1.0,), 0.0), ("log2", (8.0,), 3.0)],
    *[("log2", (2.0**-140,), -140.0), ("log10", (1000.0,), 3.0), ("acos", (1.0,), 0.0)],
    *[("sinh", (-INF,), -INF), ("cosh", (-INF,), INF), ("tanh", (INF,), 1.0)],
    *[("tanh", (-INF,), -1.0), ("cbrt", (INF,), INF), ("cbrt", (-INF,), -INF)],
    *[("cbrt", (-27.0,), -3.0), ("erf", (INF,), 1.0), ("erf", (-INF,), -1.0)],
    *[("erfc", (INF,), 0.0), ("erfc", (-INF,), 2.0), ("erfc", (0.0,), 1.0)],
    *[("pow", (1.0, NAN), 1.0), ("pow", (NAN, 0.0), 1.0), ("pow", (NAN, 1.0), NAN)],
    *[("pow", (-1.0, INF), 1.0), ("pow", (-1.0, -INF), 1.0), ("pow", (-1.0, NAN), NAN)],
    *[("pow", (0.5, INF), 0.0), ("pow", (0.5, -INF), INF), ("pow", (-3.0, INF), INF)],
    *[("pow", (-0.0, 3.0), -0.0), ("pow", (-0.0, 2.0), 0.0), ("pow", (-0.0, 0.5), 0.0)],
    *[("pow", (-0.0, -3.0), -INF), ("pow", (-0.0, -2.0), INF), ("pow", (0.0, -1.5), INF)],
    *[("pow", (-INF, 3.0), -INF), ("pow", (-INF, 0.5), INF), ("pow", (-INF, -3.0), -0.0)],
    *[("pow", (-2.0, 3.0), -8.0), ("pow", (-2.0, 2.0), 4.0), ("pow", (-2.0, 0.5), NAN)],
    *[("pow", (INF, -2.0), 0.0), ("pow", (-2.0, 1e30), INF), ("pow", (10.0, 2.0), 100.0)],
    *[("hypot", (INF, NAN), INF), ("hypot", (NAN, -INF), INF), ("hypot", (3.0, -4.0), 5.0)],
    *[("hypot", (NAN, 1.0), NAN), ("hypot", (0.0, -0.0), 0.0), ("hypot", (2e38, 2e38), None)],
    *[("atan2", (y, x), math.atan2(y, x)) for y in (0.0, -0.0, 1.0, -1.0, INF, -INF)
      for x in (0.0, -0.0, 1.0, -1.0, INF, -INF)],
    *[("atan2", (NAN, INF), NAN), ("atan2", (0.0, NAN), NAN)],
    *[("fmod", (5.5, 2.0), 1.5), ("fmod", (-5.5, 2.0), -1.5), ("fmod", (1.0, INF), 1.0)],
    *[("fmod", (INF, 1.0), NAN), ("fmod", (1.0, 0.0), NAN), ("fmod", (-4.0, 2.0), -0.0)],
]  # fmt: skip


@TYPES
def test_special_values(type: DType) -> None:
    """NaN, infinities, zeros with their signs, and exact cases; grouped by function for speed."""
    for name in {row[0] for row in SPECIAL}:
        rows = [row for row in SPECIAL if row[0] == name and row[2] is not None]
        arguments = zip(*(row[1] for row in rows), strict=True)
        want = np.array([row[2] for row in rows]).astype(type.numpy)
        got = run(name, type, *arguments)
        for row, value, expected in zip(rows, got, want, strict=True):
            beside = (expected, *np.nextafter(expected, type.numpy.type([-INF, INF])))
            exempt = expected == 0 or np.isinf(expected)
            same = value in (beside[:1] if exempt else beside)
            same = same and np.signbit(value) == np.signbit(expected)
            assert same or (np.isnan(value) and np.isnan(expected)), (row, value)


def test_sine_of_the_double_nearest_to_a_multiple_of_half_pi() -> None:
    """The hardest reduction of float64: 62 bits cancel."""
    x = 6381956970095103 * 2.0**797
    for name in ("sin", "cos", "tan"):
        assert ulps(run(name, dt.f64, [x]).tolist()[0], exact(name, x), dt.f64) <= 1.0


@TYPES
def test_both_reductions_agree_at_their_border(type: DType) -> None:
    """The rare path begins where the usual one ends, without a jump."""
    border = 2.0**18 if type is dt.f32 else 2.0**28
    around = np.nextafter(np.full(2, border, type.numpy), [0, INF]).astype(type.numpy)
    for value, x in zip(run("sin", type, around).tolist(), around.tolist(), strict=True):
        assert ulps(value, exact("sin", x), type) <= 1.0


@TYPES
def test_exponentials_at_the_ends_of_their_range(type: DType) -> None:
    """The last finite results, the smallest subnormal ones, and the first beyond."""
    top, least = (128, -149) if type is dt.f32 else (1024, -1074)
    log2 = math.log(2)
    ends = [end + step * 0.01 for end in (top, least, least + 24) for step in range(-60, 60)]
    for name, scale in (("exp", log2), ("exp2", 1.0)):
        x = (np.array(ends) * scale).astype(type.numpy)
        for argument, value in zip(x.tolist(), run(name, type, x).tolist(), strict=True):
            assert ulps(value, exact(name, argument), type) <= 1.0, argument


@TYPES
def test_fmod_is_exact(type: DType) -> None:
    """Against C's fmod, for quotients of any size and subnormals."""
    random = np.random.default_rng(9)
    low, high = (-149, 127) if type is dt.f32 else (-1074, 1023)
    x, y = (2.0 ** random.uniform(low, high, 3000) for _ in "xy")
    y[1000:2000] = x[1000:2000] * 2.0 ** random.uniform(-60, 3, 1000)
    x, y = (v.astype(type.numpy) for v in (x, y))
    x, y = x[y > 0] * random.choice([-1, 1], (y > 0).sum()).astype(type.numpy), y[y > 0]
    np.testing.assert_array_equal(run("fmod", type, x, y), np.fmod(x, y))


def test_sizes_stay_small() -> None:
    """Instructions per element outside the rare blocks: a budget, so that growth is noticed."""
    budget = {"exp": 24, "log": 34, "sin": 45, "cos": 45, "tanh": 31, "erf": 38, "exp2": 23}
    for name, most in budget.items():
        x = Var("x", dt.f32)
        (root,) = Interner()([getattr(scalar_math, name)(x)])
        seen = postorder([root])
        rare = [e for e in seen if isinstance(e, Apply) and e.name == "rare_select"]
        usual = postorder([e.args[2] for e in rare] + [e.args[0] for e in rare]) if rare else seen
        assert sum(isinstance(e, Apply) for e in usual) <= most, name
