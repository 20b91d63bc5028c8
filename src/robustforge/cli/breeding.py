"""The commands that breed heuristics, and look into what was bred: `evolve`, `runs` and `champion`."""

from __future__ import annotations

import os
from typing import Any

import click
from click.core import ParameterSource

from robustforge.cli.frame import (
    FAILED,
    INTERRUPTED,
    ON_FAILURE,
    SAMPLES,
    SEED,
    choice,
    examples,
    give,
    grammar_options,
    interruptible_once,
    json_option,
    options,
    output_option,
    problem_options,
    say,
)
from robustforge.errors import StoreWriteError

COUNT, PAIR = click.IntRange(min=1), click.IntRange(min=2)

_breeding = options(
    click.option("--population", type=PAIR, default=50, metavar="N", help="Heuristics in a generation."),
    click.option(
        "--first", type=COUNT, metavar="N", show_default="population", help="Random heuristics to begin with."
    ),
    click.option(
        "--start", multiple=True, metavar="NAME|FILE", help="Begin with this one, too; can be given several times."
    ),
    click.option("--generations", type=COUNT, default=40, metavar="N", help="Generations, the random first included."),
    click.option("--repeats", type=COUNT, default=20, metavar="N", help="Runs of each heuristic on each problem."),
    click.option("--budget", type=click.IntRange(min=10), default=2000, metavar="N", help="Evaluations of a run."),
    click.option("--tournament", type=COUNT, default=3, metavar="N", help="Heuristics drawn to choose a parent."),
    click.option("--elites", type=click.IntRange(min=0), default=2, metavar="N", help="Best that survive unchanged."),
    click.option("--mutation", type=click.FloatRange(0, 1), default=0.3, metavar="P", help="Chance of a mutation."),
    click.option(
        "--refinement", type=click.FloatRange(0, 1), default=0.0, metavar="P", help="Chance that numbers are shifted."
    ),
    click.option("--samples", type=SAMPLES, default=10_000, metavar="N", help="Points of a design's re-estimate."),
    click.option("--finalists", type=COUNT, default=5, metavar="N", help="Best that are compared at the end."),
    click.option("--final-repeats", type=COUNT, default=100, metavar="N", help="Runs of each of them, on new seeds."),
    click.option("--race", is_flag=True, help="No more repeats for the clearly worse (Friedman, 5%)."),
    click.option("--fresh", is_flag=True, help="Draw shifts and rotations anew for each repeat."),
    choice("--criterion", "How several problems count", ("ranks", "sizes")),
    click.option("--goals", metavar="A,B", help="Goals, one for each problem: what counts then."),
    click.option(
        "--margin", type=float, default=0.1, metavar="P", help="Share by which a goal is missed if half lost."
    ),
    click.option("--tie", type=click.FloatRange(0, 1), default=0.0, metavar="P", help="Differences that are none."),
    choice("--method", "By genetic programming, or halving a random crowd", ("breed", "race")),
    choice("--on-failure", "What a failed evaluation does", ON_FAILURE),
    click.option("--seed", type=SEED, default=1, metavar="N", help="Same seed, same outcome."),
)


@click.command(
    epilog=examples(
        "robustforge evolve rastrigin --dimension 10 --population 20 --generations 10",
        "robustforge evolve sphere ackley rastrigin --dimension 30 --name trio",
        "robustforge evolve all --variants shifted,shifted-rotated --fresh --race",
        "robustforge evolve --objective mymodels:family --dimension 12",
    )
)
@click.argument("problems", nargs=-1)
@problem_options
@click.option("--objective", metavar="MODULE:NAME", help="Your own: a Problem, a list, or a function of --dimension.")
@click.option("--variants", metavar="A,B", help="Breed on several variants of each problem, or all.")
@click.option("--grammar", default="extended", metavar="NAME", help="Which heuristics there are: extended or paper.")
@grammar_options
@_breeding
@click.option("--store", default="runs.db", metavar="FILE", help="Keeps every run.")
@click.option("--name", metavar="NAME", show_default="after the problems", help="What it is called in the store.")
@click.option("--workers", type=COUNT, metavar="N", show_default="all cores", help="Cores of this machine.")
@click.option("--dask", metavar="ADDRESS", help="Use the workers of this Dask scheduler instead.")
@click.option("--time-limit", type=float, metavar="S", help="Seconds after which a run, then in a process, has failed.")
@output_option("champion")
@json_option
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
    race: bool,
    **given: Any,
) -> None:
    """Breed a heuristic for your problems.

    PROBLEMS are test problems by name, or all; with several, what is good on all of them is bred. Every run is kept:
    after Ctrl-C, or worse, the same command goes on where it stopped. --only, --without and --fix can be given several
    times; `robustforge grammar` shows what they leave.
    """
    from robustforge.cli import evolutions, live, outcomes, records
    from robustforge.cli.grammars import parse_grammar

    records.check_folder(output)
    place = {key: given.pop(key) for key in ("dimension", "variant", "variant_seed", "outside")}
    if ctx.get_parameter_source("dimension") is ParameterSource.DEFAULT:
        place["dimension"] = None
    chosen = evolutions.chosen_problems(problems, objective, place, variants)
    goals = given["goals"].split(",") if given["goals"] else ()
    settings = {**given, "race": race or 0.0, "first": given["first"] or 0, "goals": goals}
    evolution = evolutions.new_evolution(name, chosen, parse_grammar(grammar, only, without, fix), settings)
    lost: StoreWriteError | None = None
    try:
        with interruptible_once(), live.watching(evolution) as after_each:
            evolutions.bred(evolution, store, workers, dask, time_limit, after_each)
    except KeyboardInterrupt:
        kept = f"what was run is in {store}; the same command goes on from there"
        say(f"interrupted: {kept if os.path.exists(store) else 'nothing was run yet'}", err=True)
        ctx.exit(INTERRUPTED)
    except StoreWriteError as error:
        if error.result is None:
            raise
        lost = error
    record = evolutions.evolution_record(evolution, store)
    saved = output if record["champion"]["works"] else None
    if saved:
        evolution.champion.save(saved)
    give(record, as_json, lambda: outcomes.show_evolution(record, evolution.champion, saved))
    if lost is not None:  # the best so far is not lost with the store
        raise lost
    ctx.exit(0 if record["champion"]["works"] else FAILED)


@click.command(epilog=examples("robustforge runs runs.db", "robustforge runs filter.db --csv earlier.csv"))
@click.argument("store")
@click.option("--csv", "output", metavar="FILE", help="Write the runs of a model there, as `data` of a problem file.")
@click.option("--name", metavar="NAME", show_default="the only one", help="Of which search.")
@json_option
def runs(store: str, output: str | None, name: str | None, as_json: bool) -> None:
    """List what a store holds, also while a run goes on."""
    from robustforge.cli import evolutions, models, outcomes

    if output:
        count, failed = models.write_runs(store, name, output)
        say(f"{count:,} runs are in {output}; {failed:,} that failed are left out", err=True)
    rows = evolutions.run_rows(store)
    give(rows, as_json, lambda: outcomes.show_runs(rows))


@click.command(epilog=examples("robustforge champion runs.db --name rastrigin-30d -o champion.json"))
@click.argument("store")
@click.option("--name", metavar="NAME", show_default="the only one", help="Which run.")
@output_option("champion")
@json_option
def champion(store: str, name: str | None, output: str | None, as_json: bool) -> None:
    """Take the champion out of a store.

    Of a run that is not finished, it is the best of the last complete generation.
    """
    from robustforge.cli import evolutions, outcomes, records

    records.check_folder(output)
    record, heuristic = evolutions.champion_record(store, name)
    if output:
        heuristic.save(output)
    give(record, as_json, lambda: outcomes.show_champion(record, heuristic, output))
