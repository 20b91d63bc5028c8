"""Numbers, counts, times and names as text, on terminals, in notebooks and on the page of a report."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import datetime

MISSING = "\N{EN DASH}"
"""Stands where there is no value."""

MINUS = "\N{MINUS SIGN}"

_DIGITS, _MAX_DIGITS = 6, 15


def significant(value: float, digits: int) -> str:
    """Return a finite value rounded to a number of significant digits, without trailing zeros.

    All digits before the decimal point are kept. The notation is scientific only if the value is far from 1.

    Example:
        >>> significant(0.00599, 5), significant(1234.5678, 3), significant(1e-7, 4), significant(-2.50, 3)
        ('0.00599', '1,235', '1e-07', '-2.5')
    """
    if value == 0:
        return "0"
    integer_digits = _exponent(value) + 1
    if integer_digits > 9 or integer_digits < -5:
        mantissa, _, exponent = f"{value:.{max(digits, 1) - 1}e}".partition("e")
        return f"{_trimmed(mantissa)}e{exponent}"
    return _trimmed(f"{value:,.{max(digits - integer_digits, 0)}f}")


def at_precision(value: float, width: float, min_digits: int = 0) -> str:
    """Return a finite value rounded to the decimal place of a hundredth of a width, or one place finer.

    Args:
        value: The value.
        width: The scale that the value is compared with: for a variable, the width of its tolerance; for a result, the
            difference between results. If it is 0, the value has six significant digits.
        min_digits: The least number of significant digits.

    Example:
        >>> at_precision(0.0059900312, 0.0006), at_precision(22.0081234, 0.9 - 0.8)
        ('0.00599', '22.008')
        >>> at_precision(0.00002, 0.4), at_precision(3.14159265, 0)
        ('0', '3.14159')
    """
    if value == 0:
        return "0"
    if not 0 < width < math.inf:
        return significant(value, _DIGITS)
    digits = max(_exponent(value) - _exponent(width) + 3, min_digits)
    return significant(value, min(digits, _MAX_DIGITS)) if digits > 0 else "0"


def finite_range(*values: float) -> float:
    """Return the difference between the highest and the lowest finite value; 0 if no value is finite."""
    finite = [value for value in values if math.isfinite(value)]
    return max(finite) - min(finite) if finite else 0.0


def percent(fraction: float) -> str:
    """Return a fraction as a whole percentage; a small one is not rounded to 0.

    Example:
        >>> percent(0.425), percent(0.004), percent(0.0)
        ('42%', '<1%', '0%')
    """
    return "<1%" if 0 < fraction < 0.005 else f"{100 * fraction:.0f}%"


def number(value: float | None, digits: int = 4) -> str:
    """Return a value with a few significant digits and a minus sign; infinite and missing values are written as words.

    Example:
        >>> number(1234.5678), number(0.00001234), number(float("inf"))
        ('1,235', '0.00001234', 'infinite')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    return with_minus_sign(significant(value, digits))


def with_minus_sign(text: str) -> str:
    """Return a number with a minus sign in place of a hyphen."""
    return text.replace("-", MINUS)


def signed(value: float, digits: int = 4) -> str:
    """Return a change, with its sign.

    Example:
        >>> signed(0.5, 2), signed(-0.5, 2), signed(0.0)
        ('+0.5', '−0.5', '0')
    """
    return f"+{number(value, digits)}" if value > 0 else number(value, digits)


def mean_and_error(mean: float, error: float) -> str:
    """Return a mean with its standard error, both rounded to the second digit of the error.

    Example:
        >>> mean_and_error(12.3456, 0.0789)
        '12.346 ± 0.079'
    """
    if not (math.isfinite(mean) and math.isfinite(error)) or error <= 0:
        return number(mean)
    places = max(1 - math.floor(math.log10(error)), 0)
    return number(mean) if places > 9 else with_minus_sign(f"{mean:,.{places}f} ± {error:,.{places}f}")


def p_value(p: float | None) -> str:
    """Return a p-value; a very small one as a bound.

    Example:
        >>> p_value(0.04321), p_value(1e-9)
        ('0.043', '< 0.0001')
    """
    if p is None or math.isnan(p):
        return MISSING
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}" if p < 1e-3 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def count(amount: int, noun: str, plural: str = "") -> str:
    """Return an amount with its noun, in the singular or the plural.

    Example:
        >>> count(1, "run"), count(2000, "run"), count(2, "study", "studies")
        ('1 run', '2,000 runs', '2 studies')
    """
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """Return a duration.

    Example:
        >>> duration(4.52), duration(45.2), duration(200), duration(7500)
        ('4.5 s', '45 s', '3:20 min', '2:05 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"


def whole_duration(seconds: float | None) -> str:
    """Return an estimated or running duration in whole seconds; "?" if it is not known.

    Example:
        >>> whole_duration(4.52), whole_duration(200), whole_duration(None)
        ('5 s', '3:20 min', '?')
    """
    return "?" if seconds is None else duration(seconds) if seconds >= 10 else f"{seconds:.0f} s"


def date_and_time(stamp: str | None) -> str:
    """Return an ISO time stamp without its seconds; one that cannot be read is returned unchanged."""
    if not stamp:
        return MISSING
    try:
        return datetime.fromisoformat(stamp).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return stamp


def elapsed_seconds(start: str, end: str | None) -> float | None:
    """Return the seconds between two ISO time stamps; `None` if one of them is missing."""
    try:
        return (datetime.fromisoformat(end or "") - datetime.fromisoformat(start)).total_seconds()
    except (ValueError, TypeError):
        return None


def shorten(name: str, max_length: int = 22) -> str:
    """Return a name on one line, without its middle part if it is long.

    Example:
        >>> shorten("a-very-long-name-of-a-contestant@5000", 16)
        'a-very-lo…t@5000'
    """
    plain = " ".join("".join(each if each.isprintable() else " " for each in name).split())
    if len(plain) > max_length:
        plain = _PRESET_FOLDER.sub("", plain)  # of comparator/30d/rpso@5000, the end is the most informative part
    if len(plain) <= max_length:
        return plain
    end = (max_length - 1) * 2 // 5
    return f"{plain[: max_length - 1 - end]}…{plain[-end:]}"


def join_names(names: Sequence[str]) -> str:
    """Return names as part of a sentence.

    Example:
        >>> join_names(["a", "b", "c"])
        'a, b and c'
    """
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""


def _exponent(value: float) -> int:
    """Return the power of ten of the first digit."""
    return math.floor(math.log10(abs(value)) + 1e-12)  # 0.9 - 0.8 has the exponent of 0.1


def _trimmed(text: str) -> str:
    return text.rstrip("0").rstrip(".") if "." in text else text


_PRESET_FOLDER = re.compile(r"^(champion|comparator|paper)/\d+d/")
