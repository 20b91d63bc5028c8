"""Ready-made heuristics, by name: JSON files beside this module, one each.

`rpso` and its variants are the paper's comparators, `descent-directions` and `leh` the single-solution searches that
they come from, and `paper/30d/rastrigin`, `paper/100d/general`, ... the structures of the paper's 22 best heuristics
with parameters that were tuned here, since the paper does not print its own.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from robustforge.errors import UnknownNameError
from robustforge.heuristic.heuristic import Heuristic

FOLDER = Path(__file__).parent / "presets"


@cache
def heuristics() -> tuple[str, ...]:
    """Return the names of the ready-made heuristics.

    Example:
        >>> import robustforge as rf
        >>> "rpso+dd" in rf.heuristics()
        True
    """
    found = (path.relative_to(FOLDER).with_suffix("").as_posix() for path in FOLDER.rglob("*.json"))
    return tuple(sorted(found, key=_order))


def heuristic(name: str | Path) -> Heuristic:
    """Return a ready-made heuristic by its name, or the one in a JSON file.

    Args:
        name: For instance "rpso+dd" or "paper/30d/general", or a path that ends in ".json".

    Example:
        >>> import robustforge as rf
        >>> print(rf.heuristic("rpso"))  # doctest: +ELLIPSIS
        - 20 particles; all particles share the best position of the swarm
        ...
    """
    if isinstance(name, Path) or str(name).endswith(".json"):
        return Heuristic.load(name)
    if name not in heuristics():
        raise UnknownNameError("heuristic", str(name), heuristics(), "robustforge heuristics")
    return _preset(name)


@cache
def _preset(name: str) -> Heuristic:
    return Heuristic.load(FOLDER / f"{name}.json")


def _order(name: str) -> tuple[int, str]:
    """Put plain names first, then the paper's by dimension."""
    parts = name.split("/")
    size = parts[1].rstrip("d") if len(parts) == 3 else ""
    return (int(size) if size.isdecimal() else 0, name)
