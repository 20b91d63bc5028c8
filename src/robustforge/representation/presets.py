"""Ready-made heuristics, by name: JSON files next to this module, one each.

`champion/30d/general`, `champion/100d/rastrigin`, ... were evolved from the paper's grammar with tuned settings;
`letter/30d/general`, ... by the paper's experiment, to the letter (`docs/results`). `champion/30d/extended`,
`champion/100d/extended`, `champion/30d/few` and `champion/10d/few` come from the extended one (`docs/results`);
`default/30d/extended`, ... are the same with a closing attack: one of them is the default, by the budget.
`mirrored-es` is an evolution strategy in opposite pairs that returns its mean. `rpso` and its variants are the paper's
comparators, `descent-directions` and `leh` the single-solution searches that they come from, all with numbers set by
hand; `comparator/30d/rpso`, ... are the same with numbers tuned for the study. `paper/30d/rastrigin`, ... have the
structures of the paper's 22 best heuristics, with numbers tuned here, since the paper does not print its own. `corners`
is a general swarm whose inner search samples the surface of the uncertainty set.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from robustforge.errors import UnknownNameError
from robustforge.representation.heuristic import Heuristic

FOLDER = Path(__file__).parent / "presets"
CHAMPIONS = Path(__file__).parent / "champions"
CHAMPION, DEFAULT = "champion", "default"

EMULATED_RUNS = 400
"""Budget up to which an emulator has the second half of it, in up to 12 variables; in up to 4, 15% of more."""


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
    """Return which heuristic is meant where none is named: an extended champion for such a budget, with an attack.

    They were evolved with 67, 20, 15 and 7 evaluations per variable, 2,000 in all, or for the last two 150 and 200;
    where one is better than another was measured on instances of their own (`docs/results/beyond`). In more than 500
    variables the one with the larger population is as good as those for few evaluations, and several times as fast.

    Example:
        >>> default_name(30), default_name(100), default_name(20, budget=300), default_name(50, budget=300)
        ('default/30d/extended', 'default/100d/extended', 'default/10d/few', 'default/30d/few')
        >>> default_name(10, budget=300), default_name(3, budget=900)
        ('default/10d/emulator', 'default/3d/emulator')
    """
    each = budget / dimension
    if budget <= EMULATED_RUNS and dimension <= 12:
        return f"{DEFAULT}/10d/emulator"
    if budget <= 5 * EMULATED_RUNS and dimension <= 4:
        return f"{DEFAULT}/3d/emulator"
    if budget >= 1000 and each >= 35:
        return f"{DEFAULT}/30d/extended"
    if budget >= 500 and (each >= 6 or dimension > 500):
        return f"{DEFAULT}/100d/extended"
    return f"{DEFAULT}/10d/few" if each >= 10 else f"{DEFAULT}/30d/few"


def former_default_name(dimension: int, budget: int) -> str:
    """Return the default up to 0.2.0: the same without an attack."""
    return default_name(dimension, budget).replace(DEFAULT, CHAMPION, 1)


@cache
def _preset(name: str) -> Heuristic:
    return Heuristic.load(_files()[name])


@cache
def _files() -> dict[str, Path]:
    """Return the file of every ready-made heuristic by its name."""
    plain = {path.relative_to(FOLDER).with_suffix("").as_posix(): path for path in FOLDER.rglob("*.json")}
    champions = {path.relative_to(CHAMPIONS).with_suffix("").as_posix(): path for path in CHAMPIONS.rglob("*.json")}
    return {**plain, **{f"{CHAMPION}/{name}": path for name, path in champions.items()}}


def _order(name: str) -> tuple[int, int, str]:
    """Put plain names first, then the champions, the comparators and the paper's, each by dimension."""
    parts = name.split("/")
    if len(parts) < 3:
        return 0, 0, name
    return 1 + _FAMILIES.index(parts[0]), int(parts[1].rstrip("d")), name


_FAMILIES = (DEFAULT, CHAMPION, "letter", "comparator", "paper")
