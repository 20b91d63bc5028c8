"""Elementary functions of plain arithmetic: the same bits on every CPU, with every C library.

The mathematical functions of C libraries and of NumPy have several implementations each, chosen by what the CPU can do,
and these differ in the last bit, which can change the course of a search. The functions here consist of additions,
multiplications, divisions and bit operations only, which IEEE 754 defines to the last bit: the argument is reduced,
and what is left is a polynomial. The error is below 1 unit in the last place. They can be called in compiled functions
and in plain Python, where they need no compiling.
"""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from robustforge.core.compiler import both_ways

LOG_2 = 0.6931471805599453
_PI = Fraction(
    "3.14159265358979323846264338327950288419716939937510582097494459230781640628620899862803482534211706798"
)


def _pieces(value: Fraction, bits: int, count: int) -> tuple[float, ...]:
    """Return floats that add up to a number between 1 and 2: some with a given number of bits each, and the rest."""
    found = []
    for k in range(1, count + 1):
        unit = Fraction(1, 2 ** (k * bits - 1))
        piece = value // unit * unit
        found.append(float(piece))
        value -= piece
    return (*found, float(value))


_LOG_2 = Fraction("0.693147180559945309417232121458176568075500134360255254120680009493393621969694716")
_LOG_2_HIGH, _LOG_2_LOW = (piece / 2.0 for piece in _pieces(2 * _LOG_2, 36, 1))
"""Together log(2); multiples of the first by up to 2^17 are exact."""

_STEPS = 32


def _roots() -> npt.NDArray[np.float64]:
    """Return the powers 2^(k/32) below 2, each as a sum of two floats (32, 2)."""
    root = 2 << 200  # in fixed point, 200 bits after the point
    for _ in range(5):
        root = math.isqrt(root << 200)
    power, found = 1 << 200, np.empty((_STEPS, 2))
    for k in range(_STEPS):
        found[k, 0] = power / (1 << 200)
        found[k, 1] = (power - int(found[k, 0] * 2.0**60) * (1 << 140)) / (1 << 200)
        power = power * root >> 200
    return found


_POWERS = _roots()

_QUARTER = _pieces(_PI / 2, 27, 3)
"""Together pi/2; multiples of all but the last by up to 2^26 are exact."""
_MAX_ANGLE = 1e8
"""Beyond this angle in radians there is no sine and no cosine here."""

_LARGE = 6755399441055744.0  # 1.5 * 2^52: adding it rounds to the nearest integer, which is then in the lowest bits
_LARGE_BITS = 0x4338000000000000
_ROOT_BITS = 0x3FE6A09E667F3BCD  # of the root of 1/2
_MIN_NORMAL, _TWO_54 = 2.2250738585072014e-308, 18014398509481984.0
_SPLIT = 134217729.0  # 2^27 + 1
_THIRD, _THIRD_LOW = 1.0 / 3.0, float(Fraction(1, 3) - Fraction(1.0 / 3.0))

_E2, _E3, _E4, _E5, _E6 = (1.0 / math.factorial(k) for k in range(2, 7))
_S3, _S5, _S7, _S9, _S11, _S13, _S15, _S17 = (
    (-1.0 if k % 4 == 3 else 1.0) / math.factorial(k) for k in range(3, 18, 2)
)
_C4, _C6, _C8, _C10, _C12, _C14, _C16 = ((-1.0 if k % 4 == 2 else 1.0) / math.factorial(k) for k in range(4, 17, 2))
_L3, _L5, _L7, _L9, _L11, _L13, _L15, _L17, _L19, _L21, _L23, _L25 = (2.0 / k for k in range(3, 26, 2))
_TURN = tuple(float((-1) ** k * Fraction(math.pi) ** (2 * k + 1)) / math.factorial(2 * k + 1) for k in range(11))
"""Taylor's series of sin(pi r) in odd powers of r, to the last bit for |r| <= 1/2."""


@both_ways
def _bits(x: float) -> int:
    return int(np.float64(x).view(np.int64))


@both_ways
def _float(bits: int) -> float:
    return float(np.int64(bits).view(np.float64))


@both_ways
def _exp_of_rest(high: float, low: float, n: int) -> float:
    """Return exp(high - low) 2^(n/32) for |high| below 0.011 (Tang 1989).

    The power of 2 is applied in two steps, so that it is not out of range where the result is not; at most one of them
    rounds, if the result is subnormal.
    """
    r = high - low
    z = r * r
    grown = high + (z * ((_E2 + _E3 * r) + z * ((_E4 + _E5 * r) + z * _E6)) - low)
    power, power_low = _POWERS[n & (_STEPS - 1)]
    value = float(power + (power * grown + power_low))
    k = n >> 5
    half = k >> 1
    return value * _float((half + 1023) << 52) * _float((k - half + 1023) << 52)


@both_ways
def _exp(x: float, rest: float) -> float:
    """Return exp(x + rest), the rest being of the order of rounding."""
    t = x if x > -746.0 else -746.0
    t = t if t < 710.0 else 710.0
    rounded = t * (_STEPS / LOG_2) + _LARGE
    n = rounded - _LARGE
    high, low = t - n * (_LOG_2_HIGH / _STEPS), n * (_LOG_2_LOW / _STEPS) - rest
    value = _exp_of_rest(high, low, _bits(rounded) - _LARGE_BITS)
    return value if x == x else x


@both_ways
def exp(x: float) -> float:
    """Return e to the power of `x`.

    Example:
        >>> exp(1.0), exp(-1000.0), exp(1000.0)
        (2.718281828459045, 0.0, inf)
    """
    return _exp(x, 0.0)


@both_ways
def exp2(x: float) -> float:
    """Return 2 to the power of `x`; exact for integers.

    Example:
        >>> exp2(-2.0), exp2(0.5)
        (0.25, 1.4142135623730951)
    """
    t = x if x > -1076.0 else -1076.0
    t = t if t < 1025.0 else 1025.0
    rounded = _STEPS * t + _LARGE
    value = _exp_of_rest((t - (rounded - _LARGE) / _STEPS) * LOG_2, 0.0, _bits(rounded) - _LARGE_BITS)
    return value if x == x else x


@both_ways
def _exponent_and_fraction(x: float) -> tuple[float, float]:
    """Return k and m - 1 for a positive, normal x = 2^k m with m between the roots of 1/2 and of 2; m - 1 is exact."""
    bits = _bits(x)
    k = (bits - _ROOT_BITS) >> 52
    return float(k), _float(bits - (k << 52)) - 1.0


@both_ways
def _log_of_normal(x: float, more: float) -> float:
    """Return log(x 2^more) for a positive, normal `x`.

    With s = f / (2 + f), log(1 + f) is 2 atanh(s), whose first terms are put as f - f^2/2 + s f^2/2: f is exact.
    """
    k, f = _exponent_and_fraction(x)
    k += more
    s = f / (2.0 + f)
    z = s * s
    w = z * z
    first = (_L3 + _L5 * z) + w * (_L7 + _L9 * z)
    second = (_L11 + _L13 * z) + w * (_L15 + _L17 * z)
    series = z * (first + (w * w) * (second + (w * w) * (_L19 + _L21 * z)))
    half = 0.5 * f * f
    return k * _LOG_2_HIGH - ((half - (s * (half + series) + k * _LOG_2_LOW)) - f)


@both_ways
def log(x: float) -> float:
    """Return the natural logarithm: -inf of 0, NaN of a negative number.

    Example:
        >>> log(2.0), log(0.0)
        (0.6931471805599453, -inf)
    """
    if _MIN_NORMAL <= x < math.inf:
        return _log_of_normal(x, 0.0)
    if x == 0.0:
        return -math.inf
    if x < 0.0:
        return math.nan
    return _log_of_normal(x * _TWO_54, -54.0) if x < 1.0 else x


@both_ways
def log1p(x: float) -> float:
    """Return log(1 + x), to a few units in the last place also where `x` is small.

    Example:
        >>> log1p(1e-20), log1p(1.0)
        (1e-20, 0.6931471805599453)
    """
    near = 1.0 + x
    if near == 1.0:
        return x
    if not 0.0 < near < math.inf:
        return log(near)
    return log(near) + (x - (near - 1.0)) / near


@both_ways
def _product(a: float, b: float) -> tuple[float, float]:
    """Return a product and its rounding error, exactly (Dekker 1971)."""
    p = a * b
    large = _SPLIT * a
    a_high = large - (large - a)
    a_low = a - a_high
    large = _SPLIT * b
    b_high = large - (large - b)
    b_low = b - b_high
    return p, ((a_high * b_high - p) + a_high * b_low + a_low * b_high) + a_low * b_low


@both_ways
def _log_in_two_parts(x: float) -> tuple[float, float]:
    """Return the logarithm of a positive number as a sum of two, to about 20 digits."""
    is_small = x < _MIN_NORMAL
    k, f = _exponent_and_fraction(x * _TWO_54 if is_small else x)
    k -= 54.0 if is_small else 0.0
    below = 2.0 + f
    s = f / below
    p, rounded = _product(s, below)
    s_low = (((f - p) - rounded) - s * (f - (below - 2.0))) / below
    z, z_low = _product(s, s)
    z_low += 2.0 * s * s_low
    # atanh(s) / s - 1 = z/3 + z^2/5 + z^3/7 + ...: the first term in two parts
    w = z * z
    far = (_L15 + _L17 * z) + w * ((_L19 + _L21 * z) + w * (_L23 + _L25 * z))
    tail = 0.5 * w * ((_L5 + _L7 * z) + w * ((_L9 + _L11 * z) + w * (_L13 + z * far)))
    third, third_low = _product(z, _THIRD)
    more = third + tail
    more_low = ((third - more) + tail) + (third_low + (z * _THIRD_LOW + z_low * _THIRD))
    p, p_low = _product(s, more)
    half = s + p
    half_low = ((s - half) + p) + (p_low + (s_low + (s * more_low + s_low * more)))
    whole = k * _LOG_2_HIGH
    high = whole + 2.0 * half
    return high, ((whole - high) + 2.0 * half) + (2.0 * half_low + k * _LOG_2_LOW)


@both_ways
def _positive_power(x: float, y: float) -> float:
    """Return `x` to the power of `y` for a positive, finite `x` other than 1 and a finite `y` other than 0."""
    high, low = _log_in_two_parts(x)
    if y * high > 720.0:
        return math.inf
    if y * high < -760.0:
        return 0.0
    p, rest = _product(y, high)
    return _exp(p, rest + y * low)


@both_ways
def power(x: float, y: float) -> float:
    """Return `x` to the power of `y`, as IEEE 754 defines it: of a negative number with an integer only, else NaN.

    Example:
        >>> power(2.0, 0.5), power(-2.0, 3.0), power(0.0, -1.0)
        (1.4142135623730951, -8.0, inf)
    """
    if y == 0.0 or x == 1.0:
        return 1.0
    if x != x or y != y:
        return math.nan
    size, is_integer = abs(x), abs(y) >= 4503599627370496.0 or (abs(y) + _LARGE) - _LARGE == abs(y)
    half = 0.5 * abs(y)
    is_odd = is_integer and abs(y) < 9007199254740992.0 and (half + _LARGE) - _LARGE != half
    if size == 0.0 or size == math.inf or abs(y) == math.inf:
        grows = (size > 1.0) == (y > 0.0)
        value = 1.0 if size == 1.0 else (math.inf if grows else 0.0)
    elif size == 1.0:
        value = 1.0
    else:
        value = _positive_power(size, y)
    if math.copysign(1.0, x) > 0.0:
        return value
    if x < 0.0 and x > -math.inf and not is_integer:
        return math.nan
    return -value if is_odd else value


@both_ways
def _sin_and_cos(x: float) -> tuple[float, float, int]:
    """Return sine and cosine of an angle reduced by quarter turns, and their number."""
    rounded = x * 0.6366197723675814 + _LARGE
    k = rounded - _LARGE
    near = (x - k * _QUARTER[0]) - k * _QUARTER[1]
    step = k * _QUARTER[2]
    r = near - step
    moved = near - r
    rest = ((near - (r + moved)) + (moved - step)) - k * _QUARTER[3]
    r, rest = r + rest, rest - ((r + rest) - r)
    z = r * r
    w = z * z
    odd = (_S3 + _S5 * z) + w * ((_S7 + _S9 * z) + w * ((_S11 + _S13 * z) + w * (_S15 + _S17 * z)))
    even = (_C4 + _C6 * z) + w * ((_C8 + _C10 * z) + w * ((_C12 + _C14 * z) + w * _C16))
    half = 0.5 * z
    whole = 1.0 - half
    sine = r + (z * r * odd + rest * whole)
    cosine = whole + (((1.0 - whole) - half) + (w * even - r * rest))
    return sine, cosine, _bits(rounded) & 3


@both_ways
def sin(x: float) -> float:
    """Return the sine of an angle in radians; NaN beyond 1e8; use `cosine` there.

    Example:
        >>> sin(0.5)
        0.479425538604203
    """
    if not abs(x) <= _MAX_ANGLE:
        return math.nan
    sine, cosine, quarters = _sin_and_cos(x)
    value = cosine if quarters & 1 else sine
    return -value if quarters & 2 else (value if x != 0.0 else x)


@both_ways
def cos(x: float) -> float:
    """Return the cosine of an angle in radians; NaN beyond 1e8.

    Example:
        >>> cos(0.5)
        0.8775825618903728
    """
    if not abs(x) <= _MAX_ANGLE:
        return math.nan
    sine, cosine, quarters = _sin_and_cos(x)
    value = sine if quarters & 1 else cosine
    return -value if (quarters + 1) & 2 else value


@both_ways
def cosine(turns: float) -> float:
    """Return cos(2 pi turns), to a few units in the last place of 1.

    Whole turns are taken off without rounding; of what is left, the cosine is 1 - 2 sin(pi r)^2.

    Example:
        >>> cosine(1e9 + 0.5)
        -1.0
    """
    r = turns - np.floor(turns + 0.5)
    square, sine = r * r, _TURN[10]
    for k in range(9, -1, -1):
        sine = sine * square + _TURN[k]
    sine *= r
    return float(1.0 - 2.0 * sine * sine)
