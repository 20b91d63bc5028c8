"""The settings of an evolution: with the problems and the grammar, they decide its result."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from math import isfinite
from numbers import Integral
from pathlib import Path
from typing import Any, Literal, get_args

from robustforge.engine.optimizer import OnFailure
from robustforge.errors import EvolutionError, UnknownNameError
from robustforge.representation import Heuristic
from robustforge.representation.presets import heuristic

DEFAULT_GRAMMAR = "extended"

RACE_LEVEL = 0.05
"""Significance level of a race that is selected by `True`."""

Criterion = Literal["ranks", "regret"]
Method = Literal["gp", "halving"]

MAX_SAMPLES = 1_000_000
"""Sampled points beyond this number would not fit into the memory of a worker."""

STORED_NAMES = {
    "initial_population": "first",
    "initial_heuristics": "start",
    "tournament_size": "tournament",
    "mutation_probability": "mutation",
    "parameter_mutation": "refinement",
    "race_level": "race",
    "resample_instances": "fresh",
    "goal_margin": "margin",
    "tie_threshold": "tie",
}
"""The key of a setting in stores and result files, where it is not its name.

These are the names of versions up to 0.2.0. They are persistent, so that stored evolutions can be read and resumed.
"""

STORED_VALUES = {"criterion": {"regret": "sizes"}, "method": {"gp": "breed", "halving": "race"}}
"""The value of a setting in stores and result files, where it is not the value itself; persistent, too."""


@dataclass(frozen=True)
class Settings:
    """The settings of an evolution.

    Attributes:
        population: Heuristics per generation.
        initial_population: Heuristics in the first generation, whose best become parents; 0 for `population`.
        initial_heuristics: Heuristics that join the random ones of the first generation: names, paths or objects.
        generations: Generations, the random first one included.
        repeats: Runs of each heuristic on each problem, per generation.
        budget: Evaluations per run.
        tournament_size: Heuristics drawn in a tournament to select a parent.
        elites: Best heuristics that survive unchanged.
        mutation_probability: Probability that a child is mutated.
        parameter_mutation: Probability that a third of a child's numerical parameters are perturbed; not in the paper.
        samples: Points at which the returned design is re-estimated.
        finalists: Best heuristics of the last generation, compared once more at the end.
        final_repeats: Runs of each finalist on each problem, with new seeds.
        race_level: Significance level at which clearly worse heuristics get no further repeats; 0 for no race, `True`
            for 0.05.
        resample_instances: Whether the shift and rotation of a variant are drawn again for each repeat of each
            generation, the same for all heuristics. By default they are those of the problem's own seed.
        criterion: How heuristics are compared over several problems: "ranks", as in the paper, or "regret", the mean
            difference to the best, in units of the median's.
        goals: A target value for each of several problems, in their order. Heuristics are then compared by their mean
            loss: one half if a goal is missed by `goal_margin`, more if by more. Values better than the goal reduce
            the loss, by at most half the margin.
        goal_margin: The relative miss that counts as a loss of one half.
        tie_threshold: Threshold below which two results on one of several problems count as tied, as a fraction of
            the distance from the best to the median of the first generation.
        method: "gp", genetic programming, or "halving": successive halving of a random population, with twice the
            repeats for each half that remains.
        on_failure: How a failed evaluation of the objective is treated, as in `minimize`.
        seed: Decides everything that is random.
    """

    population: int = 50
    initial_population: int = 0
    initial_heuristics: tuple[Heuristic, ...] = ()
    generations: int = 40
    repeats: int = 20
    budget: int = 2000
    tournament_size: int = 3
    elites: int = 2
    mutation_probability: float = 0.3
    parameter_mutation: float = 0.0
    samples: int = 10_000
    finalists: int = 5
    final_repeats: int = 100
    race_level: float = 0.0
    resample_instances: bool = False
    criterion: Criterion = "ranks"
    goals: tuple[float, ...] = ()
    goal_margin: float = 0.1
    tie_threshold: float = 0.0
    method: Method = "gp"
    on_failure: OnFailure = "raise"
    seed: int = 1

    def __post_init__(self) -> None:
        if self.race_level is True:
            self._set("race_level", RACE_LEVEL)
        for name, minimum in _MINIMA.items():
            self._set(name, _checked_integer(name, getattr(self, name), minimum))
        for name, maximum in _FRACTIONS.items():
            self._set(name, _checked_fraction(name, getattr(self, name), maximum))
        for name, allowed in _CHOICES.items():
            if getattr(self, name) not in get_args(allowed):
                given = str(getattr(self, name))
                raise UnknownNameError(f"choice for `{name}`", given, get_args(allowed), "robustforge evolve --help")
        if not isinstance(self.resample_instances, bool):
            raise EvolutionError("resample_instances must be True or False", f"got {self.resample_instances!r}")
        self._set("initial_heuristics", _as_heuristics(self.initial_heuristics))
        self._set("goals", _as_goals(self.goals))
        self._check_sizes()
        self._check_goals()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_sizes(self) -> None:
        if self.samples > MAX_SAMPLES:
            raise EvolutionError(
                f"samples must be at most {MAX_SAMPLES:,}", f"got {self.samples:,}", "10,000 is usually enough"
            )
        if self.population <= self.elites:
            raise EvolutionError(
                "the population must be larger than the number of elites",
                f"got a population of {self.population} and {self.elites} elites",
                "Increase the population, or reduce the elites",
            )
        if len(self.initial_heuristics) > self.initial_size:
            raise EvolutionError(
                "the initial heuristics must fit into the first generation",
                f"got {len(self.initial_heuristics)} heuristics and a first generation of {self.initial_size}",
                "Increase initial_population, or pass fewer initial heuristics",
            )
        if self.method == "gp" and 0 < self.initial_population < self.population:
            raise EvolutionError(
                "the first generation must not be smaller than the others",
                f"got an initial population of {self.initial_population} and a population of {self.population}",
                "Increase initial_population, or leave it out",
            )

    def _check_goals(self) -> None:
        if self.goal_margin <= 0.0:
            raise EvolutionError("goal_margin must be positive", f"got {self.goal_margin:g}")
        if self.goals and (self.criterion != "ranks" or self.tie_threshold):
            fact = f"got criterion {self.criterion!r} and tie_threshold {self.tie_threshold:g} together with goals"
            raise EvolutionError("goals replace the criterion and its ties", fact, "Leave out one or the other")

    def to_dict(self) -> dict[str, Any]:
        """Return the settings as they are stored; of those added after 0.1.0, only changed ones."""
        plain = {field.name: getattr(self, field.name) for field in fields(self)}
        plain["initial_heuristics"] = [each.id for each in self.initial_heuristics]
        plain["goals"] = list(self.goals)
        stored = {name: value for name, value in plain.items() if name not in _ADDED or value != _ADDED[name]}
        return as_stored(stored)

    @property
    def initial_size(self) -> int:
        """Heuristics in the first generation."""
        return self.initial_population or self.population

    def max_runs(self, problems: int) -> int:
        """Return the number of runs of an evolution on `problems` problems; with a race, an upper bound."""
        last = min(self.finalists, self.size_of(self.generations - 1)) * self.final_repeats
        return problems * (sum(self.size_of(k) * self.repeats_of(k) for k in range(self.generations)) + last)

    def size_of(self, generation: int) -> int:
        """Return the number of heuristics in a generation; with halving, half of the one before."""
        if self.method == "halving":
            return min(self.initial_size, max(self.finalists, self.initial_size >> generation))
        return self.population if generation else self.initial_size

    def repeats_of(self, generation: int) -> int:
        """Return the runs of each heuristic on each problem in a generation.

        With halving they double from one generation to the next, up to `repeats` in the last.
        """
        if self.method == "halving":
            return max(1, self.repeats >> (self.generations - 1 - generation))
        return self.repeats


_ADDED: dict[str, Any] = {
    "initial_population": 0,
    "initial_heuristics": [],
    "parameter_mutation": 0.0,
    "resample_instances": False,
    "criterion": "ranks",
    "goals": [],
    "goal_margin": 0.1,
    "tie_threshold": 0.0,
    "method": "gp",
}
"""Settings added after the first stores, and their defaults: not stored if unchanged, so that those can be resumed."""

_MINIMA = {
    "population": 2,
    "initial_population": 0,
    "generations": 1,
    "repeats": 1,
    "budget": 10,
    "tournament_size": 1,
    "elites": 0,
    "samples": 1,
    "finalists": 1,
    "final_repeats": 1,
    "seed": 0,
}
_FRACTIONS = {
    "mutation_probability": 1.0,
    "parameter_mutation": 1.0,
    "race_level": 0.5,
    "tie_threshold": 1.0,
    "goal_margin": 1.0,
}
_CHOICES = {"on_failure": OnFailure, "criterion": Criterion, "method": Method}


def as_stored(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return settings under the keys and with the values that they have in stores and result files."""
    return {
        STORED_NAMES.get(name, name): _translated(value, STORED_VALUES.get(name)) for name, value in settings.items()
    }


def from_stored(stored: Mapping[str, Any]) -> dict[str, Any]:
    """Return stored settings under their present names and with their present values.

    Example:
        >>> from_stored({"tournament": 3, "method": "breed", "budget": 2000})
        {'tournament_size': 3, 'method': 'gp', 'budget': 2000}
    """
    present = {FORMER_NAMES.get(key, key): value for key, value in stored.items()}
    return {name: _translated(value, FORMER_VALUES.get(name)) for name, value in present.items()}


def _translated(value: Any, table: Mapping[str, str] | None) -> Any:
    return table.get(value, value) if table and isinstance(value, str) else value


FORMER_NAMES = {stored: name for name, stored in STORED_NAMES.items()}
"""The present name of each setting that was renamed after 0.2.0, by its former name."""

FORMER_VALUES = {name: {stored: value for value, stored in values.items()} for name, values in STORED_VALUES.items()}
"""The present value of each value that was renamed after 0.2.0, by setting and former value."""


def _checked_integer(name: str, value: Any, minimum: int) -> int:
    if not isinstance(value, Integral) or isinstance(value, bool) or value < minimum:
        raise EvolutionError(f"{name} must be an integer of at least {minimum}", f"got {value!r}")
    return int(value)


def _checked_fraction(name: str, value: Any, maximum: float) -> float:
    if not isinstance(value, (int, float)) or isinstance(value, bool) or not 0.0 <= value <= maximum:
        raise EvolutionError(f"{name} must be a number from 0 to {maximum:g}", f"got {value!r}")
    return float(value)


def _as_heuristics(given: Any) -> tuple[Heuristic, ...]:
    """Return heuristics that are given as one or several names, paths or objects, each once."""
    several = (given,) if isinstance(given, (str, Path, Heuristic)) else given
    return tuple(dict.fromkeys(each if isinstance(each, Heuristic) else heuristic(each) for each in several))


def _as_goals(given: Any) -> tuple[float, ...]:
    try:
        goals = tuple(float(goal) for goal in given)
    except (TypeError, ValueError) as error:
        raise EvolutionError("goals must be numbers, one for each problem", f"got {given!r}") from error
    if not all(isfinite(goal) and goal != 0 for goal in goals):
        fix = "Add a constant to an objective whose goal is 0"
        raise EvolutionError("goals must be finite and nonzero, since misses are relative", f"got {goals}", fix)
    return goals
