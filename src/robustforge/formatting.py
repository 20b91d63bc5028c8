"""Numbers as people read them, on terminals and on the page alike: the digits that matter, and no zeros after them."""

from __future__ import annotations

import math

_DIGITS, _MOST = 6, 15


def significant(value: float, digits: int) -> str:
    """Return a finite value rounded to so many significant digits, without zeros at the end of its decimals.

    Digits before the decimal point are all written, and there is no power of ten unless the value is far from 1.

    Example:
        >>> significant(0.00599, 5), significant(1234.5678, 3), significant(1e-7, 4), significant(-2.50, 3)
        ('0.00599', '1,235', '1e-07', '-2.5')
    """
    if value == 0:
        return "0"
    before = _power(value) + 1
    if before > 9 or before < -5:
        mantissa, _, power = f"{value:.{max(digits, 1) - 1}e}".partition("e")
        return f"{_trimmed(mantissa)}e{power}"
    return _trimmed(f"{value:,.{max(digits - before, 0)}f}")


def within(value: float, width: float, least: int = 0) -> str:
    """Return a finite value to the decimal place that is a hundredth of a width, or finer by less than a factor of 10.

    Args:
        value: The value.
        width: What it is seen against: of a variable, the width of its tolerance; of a result, the difference between
            results. If it is 0, the value has six significant digits.
        least: Significant digits that the value has whatever the width.

    Example:
        >>> within(0.0059900312, 0.0006), within(22.0081234, 0.9 - 0.8), within(0.00002, 0.4), within(3.14159265, 0)
        ('0.00599', '22.008', '0', '3.14159')
    """
    if value == 0:
        return "0"
    if not 0 < width < math.inf:
        return significant(value, _DIGITS)
    digits = max(_power(value) - _power(width) + 3, least)
    return significant(value, min(digits, _MOST)) if digits > 0 else "0"


def spread(*values: float) -> float:
    """Return the difference between the highest and the lowest finite value; 0 if there are none."""
    finite = [value for value in values if math.isfinite(value)]
    return max(finite) - min(finite) if finite else 0.0


def percent(share: float) -> str:
    """Return a share as a whole number of hundredths; a small one is not rounded to nothing.

    Example:
        >>> percent(0.425), percent(0.004), percent(0.0)
        ('42%', '<1%', '0%')
    """
    return "<1%" if 0 < share < 0.005 else f"{100 * share:.0f}%"


def _power(value: float) -> int:
    """Return the power of ten of the first digit."""
    return math.floor(math.log10(abs(value)) + 1e-12)  # 0.9 - 0.8 is as wide as 0.1


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text
