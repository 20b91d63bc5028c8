"""`evolve`: evolve a heuristic for a problem or a family of problems, by grammar-guided genetic programming."""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import fields
from pathlib import Path
from typing import Any

from robustforge.arguments import renamed, unknown_argument
from robustforge.engine import kernels
from robustforge.errors import EvolutionError, StoreWriteError
from robustforge.evolution.evolution import Evolution
from robustforge.evolution.runner import EvolutionRunner
from robustforge.evolution.settings import DEFAULT_GRAMMAR, FORMER_NAMES, FORMER_VALUES, Settings
from robustforge.representation import Grammar
from robustforge.representation.restriction import grammar
from robustforge.robust_problem import Problem, as_problems
from robustforge.scheduling import open_backend
from robustforge.store import Store

Callback = Callable[[Evolution], Any]


def evolve(
    problems: Problem | Iterable[Problem],
    *,
    grammar: str | Grammar = DEFAULT_GRAMMAR,
    store: str | Path | None = None,
    name: str | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    time_limit: float | None = None,
    callback: Callback | None = None,
    on_progress: Callback | None = None,
    **settings: Any,
) -> Evolution:
    """Evolve a heuristic for a problem, or one that performs well on several problems.

    Args:
        problems: A `Problem`, or several. Compiled objectives run in threads, Python objectives in processes.
        grammar: The heuristics to search: "extended", "expensive" (with emulators), "paper", "letter", or a
            `Grammar`.
        store: A file that stores every run; the same call resumes an interrupted evolution.
        name: Name of the evolution in the store; by default, derived from the problems.
        executor: A `concurrent.futures.Executor` for the runs, such as a Dask client's. By default, all local cores.
        workers: Number of local cores.
        time_limit: Seconds after which a run counts as failed. Runs are then executed in processes.
        callback: Called with the `Evolution` after each generation; it may raise `StopIteration` to pause.
        on_progress: Called with the `Evolution` at the start and whenever runs complete.
        **settings: `population` (50), `initial_population` (0: the same), `initial_heuristics` (none), `generations`
            (40), `repeats` (20), `budget` (2000), `tournament_size` (3), `elites` (2), `mutation_probability` (0.3),
            `parameter_mutation` (0), `samples` (10,000), `finalists` (5), `final_repeats` (100), `race_level` (0),
            `resample_instances` (False), `criterion` ("ranks"), `goals` (none), `goal_margin` (0.1), `tie_threshold`
            (0), `method` ("gp"), `on_failure` ("raise") and `seed` (1); see `Settings`.

    Returns:
        The evolution, with its `champion`, its last `population`, and all `generations`.

    Raises:
        StoreWriteError: The store can no longer be written. `result` is the evolution so far, if it has a generation.
        RobustforgeError: An argument is invalid, or the store holds another evolution of this name.

    Example:
        >>> import robustforge as rf
        >>> small = dict(population=4, generations=2, repeats=2, budget=100, samples=100, final_repeats=2)
        >>> evolution = rf.evolve(rf.problem("sphere", 2), seed=1, **small)
        >>> evolution.finished, len(evolution.population)
        (True, 4)
    """
    _check_callables(callback, on_progress)
    chosen = as_problems(problems)
    name = name or default_name([problem.name for problem in chosen])
    evolution = Evolution(name, chosen, make_settings(settings, stacklevel=3), as_grammar(grammar))
    if executor is None:
        kernels.prepare_all(evolution.grammar.components)
    try:
        with Store.open(store) as opened, open_backend(chosen, executor, workers, time_limit) as backend:
            EvolutionRunner(evolution, opened, backend, on_progress).run(callback)
    except StoreWriteError as error:
        error.result = evolution if evolution.generations else None
        raise
    except KeyboardInterrupt as error:
        if store is not None:
            error.add_note(f"robustforge: completed runs are stored in {store}; the same call resumes the evolution.")
        raise
    return evolution


def _check_callables(*callbacks: Any) -> None:
    for given in callbacks:
        if given is not None and not callable(given):
            raise EvolutionError("a callback must be a function of the evolution", f"got {given!r}")


def make_settings(given: dict[str, Any], stacklevel: int = 2) -> Settings:
    """Return settings from keyword arguments; former names and values are accepted with a `DeprecationWarning`.

    Args:
        given: The arguments.
        stacklevel: Which caller the warnings point to: 2 is the function that calls this one.

    Raises:
        ArgumentError: There is no such setting; the message names the closest.
    """
    present = renamed(given, FORMER_NAMES, stacklevel)
    names = [field.name for field in fields(Settings)]
    for name, value in present.items():
        if name not in names:
            raise unknown_argument(name, [*inspect.signature(evolve).parameters][:-1] + names)
        former = FORMER_VALUES.get(name, {})
        if isinstance(value, str) and value in former:
            text = f'`{name}="{value}"` was renamed to `{name}="{former[value]}"`'
            warnings.warn(
                f"{text}; the former value will be removed in the next minor release", DeprecationWarning, stacklevel
            )
            present[name] = former[value]
    return Settings(**present)


def as_grammar(given: str | Grammar) -> Grammar:
    """Return a grammar that is given by name or as an object."""
    return given if isinstance(given, Grammar) else grammar(given)


def default_name(problems: Sequence[str]) -> str:
    """Return the default name of an evolution on problems with these names."""
    return problems[0] if len(problems) == 1 else f"{problems[0]}-and-{len(problems) - 1}-more"
