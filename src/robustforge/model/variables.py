"""The variables of a user's problem: names, units, bounds, tolerances; and how the search sees them.

A tolerance in percent is an interval of constant width on a log scale, so such a variable is searched as its logarithm.
All others are searched as they are.
"""

from __future__ import annotations

import math
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from robustforge.core.elementary import log, log1p
from robustforge.problem import Ball, Box, UncertaintySet
from robustforge.problem.real import from_log

Floats = npt.NDArray[np.float64]

_NUMBER = r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
_EQUAL = re.compile(rf"(?:±|\+-|\+/-)?\s*{_NUMBER}\s*(%?)")
_UNEQUAL = re.compile(rf"\+\s*{_NUMBER}\s*(%?)\s*/\s*-\s*{_NUMBER}\s*(%?)")
_LONGEST = 200
"""Characters that the text of a tolerance may have."""

EXACT = "exact"
"""The text for a variable that is built as designed."""


@dataclass(frozen=True)
class Tolerance:
    """How far what is built may be from what was designed.

    Attributes:
        down: How far downwards, in the variable's unit or in percent.
        up: How far upwards.
        percent: Whether in percent.

    Example:
        >>> Tolerance.parse("+5%/-1%"), str(Tolerance.parse(0.5))
        (Tolerance(down=1.0, up=5.0, percent=True), '±0.5')
    """

    down: float
    up: float
    percent: bool = False

    @classmethod
    def parse(cls, given: Any) -> Tolerance | None:
        """Return the tolerance that a number or a text stands for; `None` if it stands for none."""
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            return cls(float(given), float(given)) if 0 <= given <= sys.float_info.max else None
        if not isinstance(given, str):
            return None
        given = given.strip()
        if given == EXACT:
            return cls(0.0, 0.0)
        if len(given) > _LONGEST:
            return None
        if found := _EQUAL.fullmatch(given):
            size = float(found[1])
            return cls(size, size, found[2] == "%") if size < math.inf else None
        found = _UNEQUAL.fullmatch(given)
        if found is None or (found[2] != found[4] and float(found[1]) and float(found[3])):
            return None
        up, down = float(found[1]), float(found[3])
        return cls(down, up, "%" in (found[2], found[4])) if max(up, down) < math.inf else None

    @property
    def exact(self) -> bool:
        """Whether there is none: the variable is built as designed."""
        return self.down == self.up == 0

    def __str__(self) -> str:
        sign = "%" if self.percent else ""
        if self.down == self.up:
            return EXACT if self.exact else f"±{_plain(self.down)}{sign}"
        return f"+{_plain(self.up)}{sign}/-{_plain(self.down)}{sign}"


@dataclass(frozen=True)
class Variable:
    """A variable of a problem.

    Attributes:
        name: Its name, as in the placeholders.
        low: Lower bound.
        high: Upper bound.
        tolerance: How far what is built may be from what was designed.
        unit: Its unit, for tables.
    """

    name: str
    low: float
    high: float
    tolerance: Tolerance
    unit: str = ""

    @property
    def logarithmic(self) -> bool:
        """Whether the search sees its logarithm."""
        return self.tolerance.percent and not self.tolerance.exact

    @property
    def reach(self) -> tuple[float, float]:
        """How far it can go downwards and upwards, as the search sees it."""
        t = self.tolerance
        if not self.logarithmic:
            return t.down, t.up
        return -log1p(-t.down / 100), log1p(t.up / 100)

    def encode(self, value: float) -> float:
        """Return a value as the search sees it."""
        return log(value) if self.logarithmic else value

    def decode(self, seen: float) -> float:
        """Return a value in the user's unit; of a logarithm to 15 digits, so that 1000 is not 999.9999999999998."""
        return from_log(seen) if self.logarithmic else float(seen)

    def built(self, value: float) -> tuple[float, float]:
        """Return between what the variable can lie once it is built, if the design says so."""
        t = self.tolerance
        if t.percent:
            return value * (1 - t.down / 100), value * (1 + t.up / 100)
        return value - t.down, value + t.up


def _plain(value: float) -> str:
    """Return the shortest text that is exactly this number, without the end of 5.0."""
    return repr(value).removesuffix(".0")


@dataclass(frozen=True)
class Variables:
    """All variables of a problem, and the kind of the set that their tolerances make.

    Attributes:
        each: The variables, in the order of the file.
        kind: "box" if each can be anywhere within its tolerance whatever the others do; "ball" if not all can be at
            their worst at once.
    """

    each: tuple[Variable, ...]
    kind: str = "box"

    @property
    def names(self) -> tuple[str, ...]:
        """The names."""
        return tuple(variable.name for variable in self.each)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """The bounds as the search sees them."""
        return [(variable.encode(variable.low), variable.encode(variable.high)) for variable in self.each]

    @property
    def uncertainty(self) -> UncertaintySet:
        """The set as the search sees it."""
        down, up = (list(side) for side in zip(*(variable.reach for variable in self.each), strict=True))
        kind = Box if self.kind == "box" else Ball
        return kind(down) if down == up else kind(lower=down, upper=up)

    def encode(self, values: Mapping[str, float]) -> Floats:
        """Return a point as the search sees it (n,)."""
        return np.array([variable.encode(values[variable.name]) for variable in self.each])

    def decode(self, x: Floats) -> dict[str, float]:
        """Return a point of the search by name, in the user's units."""
        return {variable.name: variable.decode(seen) for variable, seen in zip(self.each, x.tolist(), strict=True)}
