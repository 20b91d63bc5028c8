"""Numbers, times and names as people read them, on the page and in its figures."""

from __future__ import annotations

import math
import re
from datetime import datetime

from markupsafe import Markup, escape

from robustforge.formatting import significant

MISSING = "\N{EN DASH}"
"""Stands where there is no number."""

MINUS = "\N{MINUS SIGN}"


def number(value: float | None, digits: int = 4) -> str:
    """Return a value with a few significant digits; what failed is infinite and has no other name for it.

    Example:
        >>> number(1234.5678), number(0.00001234), number(float("inf"))
        ('1,235', '0.00001234', 'infinite')
    """
    if value is None or math.isnan(value):
        return MISSING
    if math.isinf(value):
        return "infinite" if value > 0 else f"{MINUS}infinite"
    return typeset(significant(value, digits))


def typeset(text: str) -> str:
    """Return a number as a page has it: with a minus sign in place of a hyphen."""
    return text.replace("-", MINUS)


def signed(value: float, digits: int = 4) -> str:
    """Return a change, with its sign.

    Example:
        >>> signed(0.5, 2), signed(-0.5, 2), signed(0.0)
        ('+0.5', '−0.5', '0')
    """
    return f"+{number(value, digits)}" if value > 0 else number(value, digits)


def with_error(value: float, error: float) -> str:
    """Return a mean with its standard error, both to the same place, which is the error's second digit."""
    if not (math.isfinite(value) and math.isfinite(error)) or error <= 0:
        return number(value)
    places = max(1 - math.floor(math.log10(error)), 0)
    return number(value) if places > 9 else f"{value:,.{places}f} ± {error:,.{places}f}".replace("-", MINUS)


def chance(p: float | None) -> str:
    """Return a p-value; a very small one as a bound.

    Example:
        >>> chance(0.04321), chance(1e-9)
        ('0.043', '< 0.0001')
    """
    if p is None or math.isnan(p):
        return MISSING
    return "< 0.0001" if p < 1e-4 else f"{p:.4f}" if p < 1e-3 else f"{p:.3f}" if p < 0.1 else f"{p:.2f}"


def count(amount: int, noun: str, plural: str = "") -> str:
    """Return how many there are of something.

    Example:
        >>> count(1, "run"), count(2000, "run"), count(2, "study", "studies")
        ('1 run', '2,000 runs', '2 studies')
    """
    return f"{amount:,} {noun if amount == 1 else plural or noun + 's'}"


def duration(seconds: float) -> str:
    """Return a time that something took, as people write it: 4.5 s, 45 s, 3:20 min, 2:05 h."""
    whole = round(seconds)
    if whole < 60:
        return f"{seconds:.1f} s" if seconds < 10 else f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02} h"


def moment(stamp: str | None) -> str:
    """Return a time in UTC without its seconds; a stamp that is none as it stands."""
    if not stamp:
        return MISSING
    try:
        return datetime.fromisoformat(stamp).strftime("%Y-%m-%d %H:%M")
    except ValueError:
        return stamp


def elapsed(begun: str, ended: str | None) -> float | None:
    """Return the seconds between two stamps, `None` if one of them is missing."""
    try:
        return (datetime.fromisoformat(ended or "") - datetime.fromisoformat(begun)).total_seconds()
    except (ValueError, TypeError):
        return None


_FAMILY = re.compile(r"^(champion|comparator|paper)/\d+d/")


def short(text: str, most: int = 22) -> str:
    """Return a name that fits beside a figure: in one line, and without its middle if it is long.

    Example:
        >>> short("a-very-long-name-of-a-contestant@5000", 16)
        'a-very-lo…t@5000'
    """
    plain = " ".join("".join(each if each.isprintable() else " " for each in text).split())
    plain = _FAMILY.sub("", plain) if len(plain) > most else plain  # of comparator/30d/rpso@5000, the end tells most
    if len(plain) <= most:
        return plain
    end = (most - 1) * 2 // 5
    return f"{plain[: most - 1 - end]}…{plain[-end:]}"


def breakable(text: str) -> Markup:
    """Return a name that breaks between its parts, if it has to: after `_`, `-`, `.`, `/`, and before a capital.

    Example:
        >>> print(breakable("wall_thickness_at_flange"), breakable("R_1"))
        wall_<wbr>thickness_<wbr>at_<wbr>flange R_1
    """
    return Markup("").join(_breakable(word) for word in re.split(r"(\s+)", text))


def _breakable(word: str) -> Markup:
    if len(word) <= _WHOLE:
        return escape(word)
    return Markup("<wbr>").join(escape(part) for part in _SEAM.split(word))


_WHOLE = 12
_SEAM = re.compile(r"(?<=[\w)][_\-./:])(?=\w)|(?<=[a-z])(?=[A-Z])")


def listed(names: list[str]) -> str:
    """Return names as part of a sentence."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}" if names else ""
