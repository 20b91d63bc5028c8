"""The worst case of a design, as `verify` and `attack` return it."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from robustforge import notebook_html

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class WorstCase:
    """The worst value found around a design: a lower bound of its true worst case.

    Attributes:
        fun: The value.
        x: The point of that value, as it was evaluated (n,).
        nfev: Evaluations used.
    """

    fun: float
    x: Floats
    nfev: int


@dataclass(frozen=True, eq=False)
class Verification:
    """The nominal value and the worst case of a design.

    Attributes:
        nominal_fun: f(x) of the design itself.
        sampled: The sampled worst case: the worst of points uniform in the uncertainty set.
        attacked: The worst case found by the attack, never below the sampled one; `None` without an attack.
    """

    nominal_fun: float
    sampled: WorstCase
    attacked: WorstCase | None

    def __str__(self) -> str:
        lines = [
            f"nominal value        {self.nominal_fun:.6g}",
            f"sampled worst case   {self.sampled.fun:.6g}  ({self.sampled.nfev} points)",
        ]
        if self.attacked is not None:
            lines.append(f"attacked worst case  {self.attacked.fun:.6g}  ({self.attacked.nfev} evaluations)")
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        """Return the values as a table for notebooks."""
        rows = [("nominal value", self.nominal_fun, 1), ("worst of the samples", self.sampled.fun, self.sampled.nfev)]
        if self.attacked is not None:
            rows.append(("worst found by the attack", self.attacked.fun, self.attacked.nfev))
        return notebook_html.fragment(
            "Verification of a design", notebook_html.table(("", "value", "evaluations"), rows)
        )
