"""What a search hands back: an `OptimizeResult` with the design, its worst known value, and the whole history."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class History:
    """Every point evaluated, in order.

    Attributes:
        x: The points, in the units of the problem (nfev, n).
        fun: Their values (nfev,); +inf where infeasible, NaN where the evaluation failed.
    """

    x: Floats
    fun: Floats

    def __len__(self) -> int:
        return int(self.fun.size)

    def __repr__(self) -> str:
        return f"<History of {len(self)} evaluations>"
