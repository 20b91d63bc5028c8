"""`evolve`: evolve a heuristic for problems, by `rf.evolve`."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import click

from robustforge.cli.grouped_help import command, heading, together
from robustforge.cli.options import (
    COUNT,
    FAILED,
    ON_FAILURE,
    SAMPLES,
    SEED,
    choice,
    execution,
    explicit_options,
    grammar,
    grammar_options,
    json_option,
    objective_option,
    output,
    output_option,
    problem,
    problem_options,
    time_limit_option,
    verbosity_options,
    workers_option,
)
from robustforge.cli.output import end_interrupted, print_payload
from robustforge.cli.signals import interruptible_once
from robustforge.errors import EvolutionError, StoreWriteError

_evolution, _comparison, _final = heading("Evolution"), heading("Comparison of heuristics"), heading("Final comparison")
_SHARE = click.FloatRange(0, 1)

_settings = together(
    _evolution("--population", type=click.IntRange(min=2), default=50, metavar="N", help="Heuristics per generation."),
    _evolution(
        "--initial-population",
        former="--first",
        type=COUNT,
        default=None,
        metavar="N",
        show_default="population",
        help="Heuristics in the first generation.",
    ),
    _evolution(
        "--initial-heuristic",
        "initial_heuristics",
        former="--start",
        multiple=True,
        metavar="NAME|FILE",
        help="Include this heuristic in the first generation (repeatable).",
    ),
    _evolution("--generations", type=COUNT, default=40, metavar="N", help="Generations, including the first."),
    _evolution(
        "--tournament-size",
        former="--tournament",
        type=COUNT,
        default=3,
        metavar="N",
        help="Heuristics drawn to select a parent.",
    ),
    _evolution(
        "--elites", type=click.IntRange(min=0), default=2, metavar="N", help="Best heuristics that survive unchanged."
    ),
    _evolution(
        "--mutation-probability",
        former="--mutation",
        type=_SHARE,
        default=0.3,
        metavar="P",
        help="Probability that a child is mutated.",
    ),
    _evolution(
        "--parameter-mutation",
        former="--refinement",
        type=_SHARE,
        default=0.0,
        metavar="P",
        help="Probability that a child's numeric parameters are perturbed.",
    ),
    choice(
        _evolution,
        "--method",
        "Genetic programming, or successive halving of random heuristics",
        ("gp", "halving"),
        {"breed": "gp", "race": "halving"},
    ),
    _evolution("--seed", type=SEED, default=1, metavar="N", help="Random seed; the same seed gives the same result."),
    _comparison("--repeats", type=COUNT, default=20, metavar="N", help="Runs of each heuristic on each problem."),
    _comparison("--budget", type=click.IntRange(min=10), default=2000, metavar="N", help="Evaluations per run."),
    _comparison(
        "--samples", type=SAMPLES, default=10_000, metavar="N", help="Points that estimate the worst case of a design."
    ),
    _comparison("--race", is_flag=True, help="Stop the repeats of clearly worse heuristics (Friedman test, 5%)."),
    _comparison(
        "--resample-instances", former="--fresh", is_flag=True, help="Draw new shifts and rotations for each repeat."
    ),
    choice(
        _comparison,
        "--criterion",
        "Comparison over several problems, by average",
        ("ranks", "regret"),
        {"sizes": "regret"},
    ),
    _comparison(
        "--goals", metavar="A,B", help="Goal for each problem; heuristics are then compared by how far they miss them."
    ),
    _comparison(
        "--goal-margin",
        former="--margin",
        type=float,
        default=0.1,
        metavar="P",
        help="Relative miss of a goal that counts as half a loss.",
    ),
    _comparison(
        "--tie-threshold",
        former="--tie",
        type=_SHARE,
        default=0.0,
        metavar="P",
        help="Relative difference below which two results count as tied.",
    ),
    choice(_comparison, "--on-failure", "Treatment of failed evaluations", ON_FAILURE),
    _final("--finalists", type=COUNT, default=5, metavar="N", help="Best heuristics that are compared again."),
    _final("--final-repeats", type=COUNT, default=100, metavar="N", help="Runs of each finalist, with new seeds."),
)


@command(
    "robustforge evolve rastrigin --dimension 10 --population 20 --generations 10",
    "robustforge evolve sphere ackley rastrigin --dimension 30 --name trio",
    "robustforge evolve all --variants shifted,shifted-rotated --race",
    "robustforge evolve --objective mymodels:family --dimension 12",
)
@click.argument("problems", nargs=-1)
@problem_options
@problem("--variants", metavar="A,B", help="Several variants of each problem, or all.")
@objective_option
@grammar(
    "--grammar",
    default="extended",
    metavar="NAME",
    help="Grammar of the heuristics: extended, expensive, paper or letter.",
)
@grammar_options
@_settings
@workers_option
@execution("--dask", metavar="ADDRESS", help="Run on the workers of this Dask scheduler.")
@time_limit_option
@output("--store", default="runs.db", metavar="FILE", help="Database of all runs.")
@output("--name", metavar="NAME", show_default="from the problems", help="Name of the evolution in the store.")
@output_option("champion")
@json_option
@verbosity_options
@click.pass_context
def evolve(
    ctx: click.Context,
    /,
    problems: tuple[str, ...],
    objective: str | None,
    variants: str | None,
    grammar: str,
    only: tuple[str, ...],
    without: tuple[str, ...],
    fix: tuple[str, ...],
    store: str,
    name: str | None,
    workers: int | None,
    dask: str | None,
    time_limit: float | None,
    output: str | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Evolve a heuristic for your problems.

    PROBLEMS are names of test problems, or all. A heuristic for several problems is selected to perform well on all of
    them. `robustforge grammar extended` shows the effect of --only, --without and --fix.

    Every run is stored. The same command resumes an interrupted evolution.
    """
    import robustforge as rf
    from robustforge.cli.load_problem import chosen_problems
    from robustforge.cli.payloads.evolutions import evolution_payload
    from robustforge.cli.payloads.grammars import parse_grammar
    from robustforge.cli.payloads.json_text import check_folder
    from robustforge.cli.views.evolution_view import show_evolution
    from robustforge.cli.views.live_evolution import watching
    from robustforge.evolution.api import default_name

    check_folder(output)
    if dask is not None and explicit_options(ctx, "workers", "time_limit"):
        raise EvolutionError("--workers and --time-limit cannot be combined with --dask", fix="Leave one of them out")
    spec = {key: settings.pop(key) for key in ("dimension", "variant", "variant_seed", "out_of_bounds")}
    chosen = chosen_problems(problems, objective, spec, "dimension" in explicit_options(ctx, "dimension"), variants)
    rules, name = parse_grammar(grammar, only, without, fix), name or default_name([each.name for each in chosen])
    store_error: StoreWriteError | None = None
    try:
        with interruptible_once(), _cluster(dask) as executor, watching(name) as on_progress:
            backend: dict[str, Any] = {"executor": executor, "workers": workers, "time_limit": time_limit}
            storage: dict[str, Any] = {"store": store, "name": name, "on_progress": on_progress}
            evolution = rf.evolve(chosen, grammar=rules, **storage, **backend, **_as_settings(settings))
    except KeyboardInterrupt:
        end_interrupted(ctx, store)
    except StoreWriteError as error:
        if error.result is None:
            raise
        evolution, store_error = error.result, error
    payload = evolution_payload(evolution, store)
    saved = output if payload["champion"]["all_finite"] else None
    if saved:
        evolution.champion.save(saved)
    print_payload(payload, as_json, lambda: show_evolution(payload, evolution.champion, saved))
    if store_error is not None:  # the best heuristic so far is printed although the store was lost
        raise store_error
    ctx.exit(0 if payload["champion"]["all_finite"] else FAILED)


def _as_settings(options: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of `rf.evolve` that options describe."""
    goals = options["goals"].split(",") if options["goals"] else ()
    settings = {**options, "initial_population": options["initial_population"] or 0, "goals": goals}
    settings["race_level"] = settings.pop("race") or 0.0
    return settings


@contextmanager
def _cluster(address: str | None) -> Iterator[Any]:
    """Connect to a Dask scheduler, if one is given."""
    if address is None:
        yield None
        return
    from robustforge.execution import connect

    with connect(address) as executor:
        yield executor
