"""Ready-made heuristics, by name: JSON files beside this module, one each.

`champion/30d/general`, `champion/100d/rastrigin`, ... were bred here from the paper's grammar; `champion/30d/extended`
and `champion/100d/extended` come from the extended one and are the default (`docs/results`). `mirrored-es` is an
evolution strategy in opposite pairs that returns its mean. `rpso` and its variants are the
paper's comparators, `descent-directions` and `leh` the single-solution searches that they come from, all with numbers
set by hand; `comparator/30d/rpso`, ... are the same with numbers tuned for the study. `paper/30d/rastrigin`, ... have
the structures of the paper's 22 best heuristics, with numbers tuned here, since the paper does not print its own.
`corners` is a general champion of the swarms that looks for the worst case on the surface of the set.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from robustforge.errors import UnknownNameError
from robustforge.heuristic.heuristic import Heuristic

FOLDER = Path(__file__).parent / "presets"
CHAMPIONS = Path(__file__).parent / "champions"
CHAMPION, EXTENDED = "champion", "extended"

DIMENSIONS = (30, 100)
"""For which there are general champions."""

MANY, MANY_EACH = 1000, 35
"""Evaluations in all, and for each variable, from which on the champion of 30 variables is the better one."""


@cache
def heuristics() -> tuple[str, ...]:
    """Return the names of the ready-made heuristics.

    Example:
        >>> import robustforge as rf
        >>> "rpso+dd" in rf.heuristics()
        True
    """
    return tuple(sorted(_files(), key=_order))


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


def default_name(dimension: int, budget: int = 2000) -> str:
    """Return which heuristic is meant where none is named: the champion of the extended grammar for such a budget.

    That is the one bred in 30 variables, with 67 evaluations for each, or the one for 100 variables, with 20 for each.

    Example:
        >>> default_name(30), default_name(30, budget=500), default_name(60)
        ('champion/30d/extended', 'champion/100d/extended', 'champion/100d/extended')
    """
    small, large = DIMENSIONS
    return f"{CHAMPION}/{small if budget >= max(MANY, MANY_EACH * dimension) else large}d/{EXTENDED}"


@cache
def _preset(name: str) -> Heuristic:
    return Heuristic.load(_files()[name])


@cache
def _files() -> dict[str, Path]:
    """Return the file of every ready-made heuristic by its name."""
    plain = {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in FOLDER.rglob("*.json")}
    bred = {path.relative_to(CHAMPIONS).with_suffix("").as_posix(): path for path in CHAMPIONS.rglob("*.json")}
    return {**plain, **{f"{CHAMPION}/{name}": path for name, path in bred.items()}}


def _order(name: str) -> tuple[int, int, str]:
    """Put plain names first, then the champions, the comparators and the paper's, each by dimension."""
    parts = name.split("/")
    if len(parts) < 3:
        return 0, 0, name
    return 1 + _FAMILIES.index(parts[0]), int(parts[1].rstrip("d")), name


_FAMILIES = (CHAMPION, "comparator", "paper")
