"""`evolve`: breed a heuristic for a problem or a family of problems."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Executor
from dataclasses import fields
from pathlib import Path
from typing import Any

from robustforge.engine import compilation
from robustforge.engine.arguments import unknown_argument
from robustforge.errors import EvolutionError, StoreWriteError
from robustforge.evolution.evolution import Evolution
from robustforge.evolution.process import Process
from robustforge.evolution.settings import DEFAULT_GRAMMAR, Settings
from robustforge.heuristic import Grammar, grammar
from robustforge.problem import Problem, as_problems
from robustforge.store import Store
from robustforge.workshop import crew


def evolve(
    problems: Problem | Iterable[Problem],
    *,
    grammar: str | Grammar = DEFAULT_GRAMMAR,
    store: str | Path | None = None,
    name: str | None = None,
    executor: Executor | None = None,
    workers: int | None = None,
    time_limit: float | None = None,
    callback: Callable[[Evolution], Any] | None = None,
    **settings: Any,
) -> Evolution:
    """Breed a heuristic for a problem, or for several: one that is good on all of them.

    Args:
        problems: A `Problem`, or several. Compiled objectives are run in threads, Python ones in processes.
        grammar: Which heuristics there are: "extended", with everything, "paper" for the paper's own, or what
            `rf.grammar` returned.
        store: A file that keeps every run. The same call again goes on where it stopped; without a store, nothing is
            kept.
        name: What it is called in the store; by default, after the problems.
        executor: Who makes the runs: any `concurrent.futures.Executor`, for instance that of a Dask client. By default
            all cores of this machine.
        workers: How many cores of this machine.
        time_limit: Seconds after which a run has failed; for objectives that hang. Runs then have processes.
        callback: Called with the evolution after each generation; it may raise `StopIteration` to stop for now.
        **settings: `population` (50), `first` (as many), `start` (nobody), `generations` (40), `repeats` (20),
            `budget` (2000), `tournament` (3), `elites` (2), `mutation` (0.3), `refinement` (0), `samples` (10,000),
            `finalists` (5), `final_repeats` (100), `race` (0; a level such as 0.05, or `True`, for one), `fresh` (no),
            `criterion` ("ranks"), `goals` (none), `margin` (0.1), `tie` (0), `method` ("breed"), `on_failure` ("raise")
            and `seed` (1); see `Settings`.

    Returns:
        The evolution, with its `champion`, its last `population`, and all `generations`.

    Raises:
        StoreWriteError: The store cannot be written to any more: the disk is full, or its file was deleted. Its
            `result` is the evolution so far, with a `champion`; `None` if no generation is complete.
        RobustforgeError: The call makes no sense, or the store holds something else; the message says what to do.

    Example:
        >>> import robustforge as rf
        >>> small = dict(population=4, generations=2, repeats=2, budget=100, samples=100, final_repeats=2)
        >>> evolution = rf.evolve(rf.problem("sphere", 2), seed=1, **small)
        >>> evolution.finished, len(evolution.population)
        (True, 4)
    """
    chosen = as_problems(problems)
    evolution = Evolution(
        name or default_name([problem.name for problem in chosen]), chosen, make_settings(settings), as_grammar(grammar)
    )
    try:
        carry_out(evolution, store, executor, workers, time_limit, callback)
    except KeyboardInterrupt as error:
        if store is not None:
            error.add_note(f"robustforge: what was run is in {store}; the same call goes on from there.")
        raise
    return evolution


def carry_out(
    evolution: Evolution,
    store: str | Path | None,
    executor: Executor | None,
    workers: int | None,
    time_limit: float | None,
    callback: Callable[[Evolution], Any] | None,
) -> None:
    """Carry an evolution out, with its runs in a store, by whoever is named; see `evolve`."""
    if callback is not None and not callable(callback):
        raise EvolutionError("a callback must be a function of the evolution", f"got {callback!r}")
    if executor is None:
        compilation.prepare_all(evolution.grammar.components)
    try:
        with Store.open(store) as kept, crew(evolution.problems, executor, workers, time_limit) as makers:
            Process(evolution, kept, makers).run(callback)
    except StoreWriteError as error:
        error.result = evolution if evolution.generations else None
        raise


def make_settings(given: dict[str, Any]) -> Settings:
    """Return settings by name; a name that is none is refused with the ones that are close."""
    known = [field.name for field in fields(Settings)]
    for name in given:
        if name not in known:
            raise unknown_argument(name, [*inspect.signature(evolve).parameters][:-1] + known)
    return Settings(**given)


def as_grammar(given: str | Grammar) -> Grammar:
    """Return a grammar that is given as such or by name."""
    return given if isinstance(given, Grammar) else grammar(given)


def default_name(problems: Sequence[str]) -> str:
    """Return what an evolution is called if nobody says: after its problems."""
    return problems[0] if len(problems) == 1 else f"{problems[0]}-and-{len(problems) - 1}-more"
