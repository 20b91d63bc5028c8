"""The quantile function of the normal distribution, with the same bits on every CPU.

The rational approximations are those of M. J. Wichura, Algorithm AS 241 (Applied Statistics 37, 1988), whose relative
error is about 1e-16.
"""

from __future__ import annotations

import math

from robustforge.core.compiler import both_ways
from robustforge.core.portable_math import log


@both_ways
def _central(q: float) -> float:
    """Return the quantile of 0.5 + q, for |q| at most 0.425."""
    r = 0.180625 - q * q
    top = 2.5090809287301226727e3
    top = top * r + 3.3430575583588128105e4
    top = top * r + 6.7265770927008700853e4
    top = top * r + 4.5921953931549871457e4
    top = top * r + 1.3731693765509461125e4
    top = top * r + 1.9715909503065514427e3
    top = top * r + 1.3314166789178437745e2
    top = top * r + 3.3871328727963666080e0
    bottom = 5.2264952788528545610e3
    bottom = bottom * r + 2.8729085735721942674e4
    bottom = bottom * r + 3.9307895800092710610e4
    bottom = bottom * r + 2.1213794301586595867e4
    bottom = bottom * r + 5.3941960214247511077e3
    bottom = bottom * r + 6.8718700749205790830e2
    bottom = bottom * r + 4.2313330701600911252e1
    return q * top / (bottom * r + 1.0)


@both_ways
def _tail(p: float) -> float:
    """Return the absolute value of the quantile of `p`, from exp(-25) to 0.075."""
    r = math.sqrt(-log(p)) - 1.6
    top = 7.74545014278341407640e-4
    top = top * r + 2.27238449892691845833e-2
    top = top * r + 2.41780725177450611770e-1
    top = top * r + 1.27045825245236838258e0
    top = top * r + 3.64784832476320460504e0
    top = top * r + 5.76949722146069140550e0
    top = top * r + 4.63033784615654529590e0
    top = top * r + 1.42343711074968357734e0
    bottom = 1.05075007164441684324e-9
    bottom = bottom * r + 5.47593808499534494600e-4
    bottom = bottom * r + 1.51986665636164571966e-2
    bottom = bottom * r + 1.48103976427480074590e-1
    bottom = bottom * r + 6.89767334985100004550e-1
    bottom = bottom * r + 1.67638483018380384940e0
    bottom = bottom * r + 2.05319162663775882187e0
    return top / (bottom * r + 1.0)


@both_ways
def normal_quantile(p: float) -> float:
    """Return the quantile of a probability; those below 1e-10, and above 1 - 1e-10, are taken for these limits.

    Example:
        >>> round(normal_quantile(0.975), 12)
        1.95996398454
    """
    p = min(max(p, 1e-10), 1.0 - 1e-10)
    q = p - 0.5
    if abs(q) <= 0.425:
        return _central(q)
    return -_tail(p) if q < 0.0 else _tail(1.0 - p)
