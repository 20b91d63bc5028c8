"""The variables of a user's problem: names, units, bounds, tolerances, and their scaling for the search.

A tolerance in percent is an interval of constant width on a log scale, so the search uses the logarithm of such a
variable. All others are not scaled.
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

from robustforge.core.portable_math import log, log1p
from robustforge.robust_problem import Ball, Box, UncertaintySet
from robustforge.robust_problem.log_scaling import from_log

Floats = npt.NDArray[np.float64]

_NUMBER = r"(\d+(?:\.\d*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)"
_SYMMETRIC = re.compile(rf"(?:±|\+-|\+/-)?\s*{_NUMBER}\s*(%?)")
_ASYMMETRIC = re.compile(rf"\+\s*{_NUMBER}\s*(%?)\s*/\s*-\s*{_NUMBER}\s*(%?)")
_MAX_LENGTH = 200
"""Characters that a tolerance may have."""

EXACT = "exact"
"""The tolerance of a variable that is built exactly as designed."""


@dataclass(frozen=True)
class Tolerance:
    """How much the built value of a variable may differ from the designed one.

    Attributes:
        down: Maximum decrease, in the variable's unit or in percent.
        up: Maximum increase.
        percent: Whether both are in percent.

    Example:
        >>> Tolerance.parse("+5%/-1%"), str(Tolerance.parse(0.5))
        (Tolerance(down=1.0, up=5.0, percent=True), '±0.5')
    """

    down: float
    up: float
    percent: bool = False

    @classmethod
    def parse(cls, given: Any) -> Tolerance | None:
        """Return the tolerance of a number or a string such as "5%"; `None` if it is invalid."""
        if isinstance(given, (int, float)) and not isinstance(given, bool):
            return cls(float(given), float(given)) if 0 <= given <= sys.float_info.max else None
        if not isinstance(given, str):
            return None
        given = given.strip()
        if given == EXACT:
            return cls(0.0, 0.0)
        if len(given) > _MAX_LENGTH:
            return None
        if found := _SYMMETRIC.fullmatch(given):
            size = float(found[1])
            return cls(size, size, found[2] == "%") if size < math.inf else None
        found = _ASYMMETRIC.fullmatch(given)
        if found is None or (found[2] != found[4] and float(found[1]) and float(found[3])):
            return None
        up, down = float(found[1]), float(found[3])
        return cls(down, up, "%" in (found[2], found[4])) if max(up, down) < math.inf else None

    @property
    def exact(self) -> bool:
        """Whether the variable is built exactly as designed."""
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
        tolerance: How much the built value may differ from the designed one.
        unit: Its unit, for tables.
    """

    name: str
    low: float
    high: float
    tolerance: Tolerance
    unit: str = ""

    @property
    def logarithmic(self) -> bool:
        """Whether the search uses its logarithm."""
        return self.tolerance.percent and not self.tolerance.exact

    @property
    def deviation(self) -> tuple[float, float]:
        """Maximum decrease and increase, scaled for the search."""
        t = self.tolerance
        if not self.logarithmic:
            return t.down, t.up
        return -log1p(-t.down / 100), log1p(t.up / 100)

    def encode(self, value: float) -> float:
        """Return a value scaled for the search."""
        return log(value) if self.logarithmic else value

    def decode(self, scaled: float) -> float:
        """Return a value in the user's unit; of a logarithm to 15 digits, so that 1000 is not 999.9999999999998."""
        return from_log(scaled) if self.logarithmic else float(scaled)

    def built_range(self, value: float) -> tuple[float, float]:
        """Return the range of built values for a designed value."""
        t = self.tolerance
        if t.percent:
            return value * (1 - t.down / 100), value * (1 + t.up / 100)
        return value - t.down, value + t.up


def _plain(value: float) -> str:
    """Return the shortest exact form of a number, "5" for 5.0."""
    return repr(value).removesuffix(".0")


@dataclass(frozen=True)
class Variables:
    """All variables of a problem, and the kind of their uncertainty set.

    Attributes:
        members: The variables, in the order of the file.
        kind: "box" if the tolerances are independent; "ball" if they are joint (an ellipsoid), so that not all
            variables are at the limit of their tolerance together.
    """

    members: tuple[Variable, ...]
    kind: str = "box"

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the variables."""
        return tuple(variable.name for variable in self.members)

    @property
    def bounds(self) -> list[tuple[float, float]]:
        """Bounds of the variables, scaled for the search."""
        return [(variable.encode(variable.low), variable.encode(variable.high)) for variable in self.members]

    @property
    def uncertainty(self) -> UncertaintySet:
        """The uncertainty set, scaled for the search."""
        down, up = (list(side) for side in zip(*(variable.deviation for variable in self.members), strict=True))
        kind = Box if self.kind == "box" else Ball
        return kind(down) if down == up else kind(lower=down, upper=up)

    def encode(self, values: Mapping[str, float]) -> Floats:
        """Return a point scaled for the search (n,)."""
        return np.array([variable.encode(values[variable.name]) for variable in self.members])

    def decode(self, x: Floats) -> dict[str, float]:
        """Return a point of the search by name, in the user's units."""
        pairs = zip(self.members, x.tolist(), strict=True)
        return {variable.name: variable.decode(scaled) for variable, scaled in pairs}
