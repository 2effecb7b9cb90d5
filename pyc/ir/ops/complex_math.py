"""Elementary functions of one complex element, as pairs of real expressions.

Built on the real functions of `scalar_math`. Each part is accurate to a few units in the last place
of the modulus (not of the part itself where it cancels). A real argument gives a real result with
the sign of its zero imaginary part kept. Infinities, NaN and zeros are those of C99, Annex G (where
it leaves a sign open, NumPy's on Linux): what the formulas do not give by themselves is selected
last. The sign of a NaN is not read.
"""

from __future__ import annotations

import math

import numpy as np

from pyc.ir.expr import Const, Expr, absolute, apply, maximum, minimum, select, sqrt
from pyc.ir.op import Complex
from pyc.ir.ops import scalar_math
from pyc.ir.ops.scalar_inverse_hyperbolic import asinh as real_asinh

LN2 = math.log(2)
SHIFTS = {32: 56.0, 64: 380.0}
"""By type: at most two factors e^SHIFT bring any exponent into range whose power, times a subnormal
number, is finite."""


def _scaled(z: Complex, factor: Expr | float) -> Complex:
    return Complex(z.re * factor, z.im * factor)


def _limit(x: Expr) -> float:
    """The largest finite number of x's type."""
    return float(np.finfo(x.dtype.numpy).max)


def _finite(x: Expr) -> Expr:
    return absolute(x) < np.inf


def _is_nan(x: Expr) -> Expr:
    return x.differs(x)


def _signed(size: Expr | float, x: Expr) -> Expr:
    """`size` with the sign of x, that of a NaN being positive."""
    size = size if isinstance(size, Expr) else Const(size, x.dtype)
    return apply("copysign", size, select(_is_nan(x), Const(0, x.dtype), x))


def exp(z: Complex) -> Complex:
    """e^x (cos y + i sin y); where e^x overflows but the product does not, in steps."""
    size, first, second = _exp_in_steps(z.re)
    re = size * scalar_math.cos(z.im) * first * second
    im = size * scalar_math.sin(z.im) * first * second
    real, turning = z.im.equal(0), _finite(z.im)
    # e^-inf is 0 and e^inf infinite in every direction, also where y has none.
    bare = real | (absolute(z.re).equal(np.inf) & ~turning)
    vanished = z.re.equal(-np.inf) & ~turning
    im = select(real, z.im, select(vanished, _signed(0.0, z.im), im))
    return Complex(select(bare, size * first * second, re), im)


def _exp_in_steps(x: Expr) -> tuple[Expr, Expr, Expr]:
    """Three factors of e^x, the last two 1 unless e^x is near overflow or beyond: a small number
    times one after the other does not overflow where the product does not."""
    shift, edge = SHIFTS[x.dtype.bits], math.log(_limit(x)) - 1
    large, huge = x > edge, x > edge + SHIFTS[x.dtype.bits]
    moved = select(huge, x - 2 * shift, select(large, x - shift, x))
    one, factor = Const(1, x.dtype), Const(math.exp(shift), x.dtype)
    return scalar_math.exp(moved), select(large, factor, one), select(huge, factor, one)


def log(z: Complex) -> Complex:
    """log |z| + i arg z; near |z| = 1 by log1p of what |z|^2 differs from 1."""
    x, y = absolute(z.re), absolute(z.im)
    high, low = maximum(x, y), minimum(x, y)
    near = (high > 0.7) & (high < 1.4) & (low < 0.7)
    close = scalar_math.log1p((high - 1) * (high + 1) + low * low) * 0.5
    huge = high > _limit(high) / 4
    scale = select(huge, Const(0.25, high.dtype), Const(1, high.dtype))
    far = scalar_math.log(scalar_math.hypot(high * scale, low * scale))
    far = select(huge, far + 2 * LN2, far)
    infinite = x.equal(np.inf) | y.equal(np.inf)  # whatever the other part is, NaN included
    re = select(infinite, Const(np.inf, x.dtype), select(near, close, far))
    return Complex(re, scalar_math.atan2(z.im, z.re))


def log2(z: Complex) -> Complex:
    """log z / log 2."""
    return _scaled(log(z), 1 / LN2)


def log10(z: Complex) -> Complex:
    """log z / log 10."""
    return _scaled(log(z), 1 / math.log(10))


def log1p(z: Complex) -> Complex:
    """log(1 + z), exact near 0."""
    small = maximum(absolute(z.re), absolute(z.im)) < 0.5
    # |1 + z|^2 - 1 = x (x + 2) + y^2
    near = scalar_math.log1p(z.re * (z.re + 2) + z.im * z.im) * 0.5
    far = log(Complex(z.re + 1, z.im))
    return Complex(select(small, near, far.re), far.im)


def exp2(z: Complex) -> Complex:
    """2^z."""
    return exp(_scaled(z, LN2))


def expm1(z: Complex) -> Complex:
    """e^z - 1, exact near 0: (e^x - 1) cos y - 2 sin(y/2)^2 is its real part."""
    half = scalar_math.sin(z.im * 0.5)
    cos_y = scalar_math.cos(z.im)
    near = scalar_math.expm1(z.re) * cos_y - 2.0 * half * half
    far = exp(z)
    small = absolute(z.re) < 1
    # + 0 makes the zero positive of which the array API standard says so: that of -0 + 0i.
    return Complex(select(small, near + 0.0, far.re - 1), far.im)


def square_root(z: Complex) -> Complex:
    """The root with a non-negative real part: by t = sqrt((|x| + |z|) / 2), scaled so that |z|
    neither overflows nor loses digits."""
    dtype = z.re.dtype
    largest = maximum(absolute(z.re), absolute(z.im))
    huge = largest > _limit(largest) / 8
    tiny = largest < float(np.finfo(dtype.numpy).tiny) * 16
    even = 2 * (np.finfo(dtype.numpy).nmant // 2 + 1)
    one = Const(1, dtype)
    down = select(huge, Const(0.25, dtype), select(tiny, Const(2.0**even, dtype), one))
    up = select(huge, Const(2.0, dtype), select(tiny, Const(2.0 ** (-even // 2), dtype), one))
    x, y = z.re * down, z.im * down
    t = sqrt((absolute(x) + scalar_math.hypot(x, y)) * 0.5)
    other = absolute(y) / (t * 2)
    right = apply("copysign", one, x) > 0
    re, size = select(right, t, other) * up, select(right, other, t) * up
    im = _signed(size, z.im)
    zero, infinite = largest.equal(0), absolute(z.im).equal(np.inf)
    re = select(infinite, absolute(z.im), select(zero, Const(0, dtype), re))
    return Complex(re, select(infinite | zero, z.im, im))


def _hyperbolic(x: Expr) -> tuple[Expr, Expr, Expr, Expr]:
    """(cosh x, sinh x, two factors), each of the first two times both factors: near overflow in
    steps."""
    size, first, second = _exp_in_steps(absolute(x))
    large, half = first > 1, size * 0.5
    cosh_x = select(large, half, scalar_math.cosh(x))
    sinh_x = select(large, apply("copysign", half, x), scalar_math.sinh(x))
    return cosh_x, sinh_x, first, second


def sinh(z: Complex) -> Complex:
    """sinh x cos y + i cosh x sin y."""
    cosh_x, sinh_x, first, second = _hyperbolic(z.re)
    re = sinh_x * scalar_math.cos(z.im) * first * second
    im = cosh_x * scalar_math.sin(z.im) * first * second
    real, turning = z.im.equal(0), _finite(z.im)
    re = select(real, sinh_x * first * second, re)
    size = absolute(z.re)
    re = select(turning, re, select(size.equal(np.inf), size, select(size.equal(0), z.re, re)))
    return Complex(re, select(real, z.im, im))


def cosh(z: Complex) -> Complex:
    """cosh x cos y + i sinh x sin y."""
    cosh_x, sinh_x, first, second = _hyperbolic(z.re)
    re = cosh_x * scalar_math.cos(z.im) * first * second
    im = sinh_x * scalar_math.sin(z.im) * first * second
    real, turning = z.im.equal(0), _finite(z.im)
    endless = absolute(z.re).equal(np.inf) & ~turning
    re = select(real | endless, cosh_x * first * second, re)
    im = select(z.re.equal(0) & ~turning, Const(0, z.re.dtype), im)
    return Complex(re, select(real, z.im * _signed(1.0, z.re), im))


def tanh(z: Complex) -> Complex:
    """Kahan's form: with t = tan y and s = sinh x, ((1 + t^2) s sqrt(1 + s^2) + i t) over
    1 + (1 + t^2) s^2; far out +-1 + 4i sin y cos y e^(-2 |x|)."""
    t, s = scalar_math.tan(z.im), scalar_math.sinh(z.re)
    beta = t * t + 1.0
    below = beta * (s * s) + 1.0
    re, im = beta * sqrt(s * s + 1.0) * s / below, t / below
    size = absolute(z.re)
    endless, turning = size.equal(np.inf), _finite(z.im)
    far = (size > (9.0 if z.re.dtype.bits == 32 else 20.0)) & (turning | endless)
    decay = scalar_math.exp(size * -2.0) * 4.0
    far_im = scalar_math.sin(z.im) * scalar_math.cos(z.im) * decay
    far_im = select(turning & ~endless, far_im, _signed(0.0, z.im))
    re, im = select(far, _signed(1.0, z.re), re), select(far, far_im, im)
    return Complex(select(z.re.equal(0), z.re, re), select(z.im.equal(0), z.im, im))


def _swapped(z: Complex) -> Complex:
    """i times the conjugate of z: an odd function f with f(conj z) = conj f(z) has
    -i f(i z) = _swapped(f(_swapped(z)))."""
    return Complex(z.im, z.re)


def sin(z: Complex) -> Complex:
    """-i sinh(i z)."""
    return _swapped(sinh(_swapped(z)))


def cos(z: Complex) -> Complex:
    """cosh(i z)."""
    return cosh(Complex(-z.im, z.re))


def tan(z: Complex) -> Complex:
    """-i tanh(i z)."""
    return _swapped(tanh(_swapped(z)))


def power(z: Complex, w: Complex) -> Complex:
    """e^(w log z); 0^w is 0 where w has a positive real part, 1 where w is 0, else NaN."""
    a = log(z)
    general = exp(Complex(w.re * a.re - w.im * a.im, w.re * a.im + w.im * a.re))
    dtype = z.re.dtype
    zero_base = z.re.equal(0) & z.im.equal(0)
    zero_exponent = w.re.equal(0) & w.im.equal(0)
    nan = Const(np.nan, dtype)
    re = select(zero_base, select(w.re > 0, Const(0, dtype), nan), general.re)
    im = select(zero_base, select(w.re > 0, Const(0, dtype), nan), general.im)
    return Complex(
        select(zero_exponent, Const(1, dtype), re), select(zero_exponent, Const(0, dtype), im)
    )


# --- inverse functions: Kahan's formulas, by square roots that keep the right branch --------------


def asin(z: Complex) -> Complex:
    """The angle with sine z."""
    less, more = square_root(Complex(1.0 - z.re, -z.im)), square_root(Complex(z.re + 1.0, z.im))
    re = scalar_math.atan2(z.re, less.re * more.re - less.im * more.im)
    im = real_asinh(less.re * more.im - less.im * more.re)
    endless = absolute(z.re).equal(np.inf)
    right_angle = _signed(math.pi / 2, z.re)
    re = select(endless & _finite(z.im), right_angle, select(z.re.equal(0), z.re, re))
    return Complex(re, select(endless, _signed(np.inf, z.im), im))


def acos(z: Complex) -> Complex:
    """The angle with cosine z."""
    less, more = square_root(Complex(1.0 - z.re, -z.im)), square_root(Complex(z.re + 1.0, z.im))
    re = scalar_math.atan2(less.re, more.re) * 2.0
    im = real_asinh(more.re * less.im - more.im * less.re)
    nan = Const(np.nan, z.re.dtype)
    right_angle = Const(math.pi / 2, z.re.dtype)
    re = select(z.re.equal(0) & _is_nan(z.im), right_angle, select(_is_nan(z.re), nan, re))
    open_end = absolute(z.re).equal(np.inf) & _is_nan(z.im)
    both, corner = _corner(z)
    return Complex(select(both, corner, re), select(open_end, Const(-np.inf, z.re.dtype), im))


def _corner(z: Complex) -> tuple[Expr, Expr]:
    """Whether both parts are infinite, and the angle of the diagonal there, in the upper half
    plane."""
    both = absolute(z.re).equal(np.inf) & absolute(z.im).equal(np.inf)
    right, left = Const(math.pi / 4, z.re.dtype), Const(math.pi * 3 / 4, z.re.dtype)
    return both, select(z.re > 0, right, left)


def acosh(z: Complex) -> Complex:
    """The number with a non-negative real part and hyperbolic cosine z."""
    less, more = square_root(Complex(z.re - 1.0, z.im)), square_root(Complex(z.re + 1.0, z.im))
    re = real_asinh(less.re * more.re + less.im * more.im)
    im = scalar_math.atan2(less.im, more.re) * 2.0
    nan, infinity = Const(np.nan, z.re.dtype), Const(np.inf, z.re.dtype)
    right_angle = Const(math.pi / 2, z.re.dtype)
    re = select(absolute(z.re).equal(np.inf) & _is_nan(z.im), infinity, re)
    im = select(z.re.equal(0) & _is_nan(z.im), right_angle, select(_is_nan(z.re), nan, im))
    both, corner = _corner(z)
    return Complex(re, select(both, _signed(corner, z.im), im))


def asinh(z: Complex) -> Complex:
    """-i asin(i z)."""
    return _swapped(asin(_swapped(z)))


def atanh(z: Complex) -> Complex:
    """The number with hyperbolic tangent z."""
    x, y = absolute(z.re), absolute(z.im)
    past = 1.0 - x
    # Beside the pole |1 - z|^2 underflows; there log(1 + 4 / y^2) is 2 log(1 + 2 / y).
    pole = past.equal(0) & (y < 2.0**-60)
    above, below = select(pole, Const(2, x.dtype), x * 4.0), select(pole, y, past * past + y * y)
    re = scalar_math.log1p(above / below) * select(pole, Const(0.5, x.dtype), 0.25)
    im = scalar_math.atan2(z.im * 2.0, past * (x + 1.0) - y * y) * 0.5
    # Far out, where squares overflow, 1/z + i pi/2 is the value to the last digit.
    largest = maximum(x, y)
    far = (largest > math.sqrt(_limit(largest)) / 16) | x.equal(np.inf) | y.equal(np.inf)
    size = scalar_math.hypot(x, y)
    infinite = size.equal(np.inf)
    far_re = select(infinite, Const(0, x.dtype), x / size / size)
    right_angle = select(_is_nan(y), y, _signed(math.pi / 2, z.im))
    re = _signed(select(far, far_re, re), z.re)
    return Complex(select(x.equal(0), z.re, re), select(far, right_angle, im))


def atan(z: Complex) -> Complex:
    """-i atanh(i z)."""
    return _swapped(atanh(_swapped(z)))
