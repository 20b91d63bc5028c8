"""A model that runs elsewhere, in a laboratory or on a queue: ask for points, save, return later, tell the values.

    python examples/ask_and_tell.py

Each iteration of the loop could be another day on another machine: only a file is kept between two iterations.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import robustforge as rf


def laboratory(x: list[float]) -> float:
    """Return what is measured at a setting."""
    return (x[0] - 1.0) ** 2 + 10.0 * abs(x[1] - x[0] ** 2)


if __name__ == "__main__":
    file = Path(tempfile.mkdtemp()) / "search.json"
    rf.Optimizer([(-2, 2)] * 2, rf.Ball(0.2), budget=300, heuristic="rpso+dd", rng=1).save(file)
    days = 0
    while batch := (search := rf.Optimizer.load(file)).ask():
        for number, x in batch:
            search.tell(number, laboratory(x.tolist()))
        search.save(file)
        days += 1
    result = search.result()
    print(f"{result.nfev} measurements on {days} days")
    print("design", result.x.round(2), "nominal", round(result.nominal_fun, 2), "worst found", round(result.fun, 2))
