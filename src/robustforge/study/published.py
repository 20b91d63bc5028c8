"""Published figures that the study is compared with; `data/README.md` has their sources."""

from __future__ import annotations

import csv
from pathlib import Path

_DATA = Path(__file__).parent / "data"


def published(name: str) -> list[dict[str, str]]:
    """Return a table of the paper, or the limits of its problems."""
    with (_DATA / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))
