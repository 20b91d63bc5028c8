"""The commands that find out how good something is: `assess`, `compare` and `reproduce`."""

from __future__ import annotations

import os
from typing import Any

import click
from click.core import ParameterSource

from robustforge.cli.frame import (
    FAILED,
    INTERRUPTED,
    SAMPLES,
    SEED,
    examples,
    give,
    interruptible_once,
    json_option,
    options,
    problem_options,
    say,
)
from robustforge.errors import StoreWriteError

COUNT = click.IntRange(min=1)
SCALES = ("smoke", "small", "paper")

_assessing = options(
    click.argument("contestants", nargs=-1, required=True),
    click.option("--problems", metavar="A,B", help="Test problems by name, or all."),
    click.option(
        "--objective", metavar="MODULE:NAME", help="Your own: a Problem, a list, or a function of --dimension."
    ),
    problem_options,
    click.option("--runs", type=COUNT, default=200, metavar="N", help="Runs of each contestant on each problem."),
    click.option("--samples", type=SAMPLES, default=1_000_000, metavar="N", help="Points around each returned design."),
    click.option("--attack/--no-attack", default=True, help="Whether to attack each design as well."),
    click.option("--budget", type=click.IntRange(min=3), default=2000, metavar="N", help="Evaluations of a run."),
    click.option("--seed", type=SEED, default=1, metavar="N", help="Same seed, same runs."),
    click.option("--store", default="runs.db", metavar="FILE", help="Keeps every run; what is there is not run again."),
    click.option("--workers", type=COUNT, metavar="N", show_default="all cores", help="Cores of this machine."),
    click.option("--time-limit", type=float, metavar="S", help="Seconds after which a run, in a process, has failed."),
    click.option("--csv", "csv_file", type=click.Path(dir_okay=False), metavar="FILE", help="Write the table there."),
    json_option,
)


@click.command(
    epilog=examples(
        "robustforge assess rpso+dd --problems sphere --runs 20 --samples 10000",
        "robustforge assess champion.json --problems all --dimension 30 --runs 200",
    )
)
@_assessing
@click.pass_context
def assess(ctx: click.Context, /, as_json: bool, csv_file: str | None, **given: Any) -> None:
    """Find out how good heuristics are, by many runs.

    CONTESTANTS are heuristics by name or as .json files, or controls: centre, random, cma-es, cma-es-worst-of-4. With
    @5000 at its end, a contestant has a budget of its own. Each returned design is worth the worst of its samples, and
    is attacked, too.
    """
    from robustforge.cli import assessments

    assessments.check_csv(csv_file)
    found, lost = _made(ctx, given)
    record = assessments.assessment_record(found, given["store"])
    assessments.save_csv(record["summaries"], csv_file)
    give(record, as_json, lambda: assessments.show_assessment(record))
    if lost is not None:  # what was found is not lost with the store
        raise lost
    ctx.exit(FAILED if record["failures"] == len(found.runs) else 0)


@click.command(epilog=examples("robustforge compare rpso rpso+dd random --problems sphere --runs 20"))
@_assessing
@click.option("--by", type=click.Choice(("value", "attacked")), default="value", help="Sampled or attacked worst case.")
@click.pass_context
def compare(ctx: click.Context, /, as_json: bool, csv_file: str | None, by: Any, **given: Any) -> None:
    """Compare heuristics, controls and CMA-ES, with tests.

    The same as `assess`, side by side: who is best on each problem, and who cannot be told from it by Wilcoxon's
    rank-sum test at 95%.
    """
    from robustforge.cli import assessments

    assessments.check_csv(csv_file)
    if by == "attacked" and not given["attack"]:
        raise click.UsageError("--by attacked needs the attack: leave --no-attack out.")
    found, lost = _made(ctx, given)
    record = assessments.comparison_record(found, by, given["store"])
    assessments.save_csv(record["cells"], csv_file)
    give(record, as_json, lambda: assessments.show_comparison(record))
    if lost is not None:
        raise lost
    ctx.exit(FAILED if record["failures"] == len(found.runs) else 0)


def _made(ctx: click.Context, given: dict[str, Any]) -> tuple[Any, StoreWriteError | None]:
    """Return the assessment that the options ask for, and why it is not whole if it is not; Ctrl-C ends the command."""
    from robustforge.cli import assessments, evolutions

    place = {key: given.pop(key) for key in ("dimension", "variant", "variant_seed", "outside")}
    if ctx.get_parameter_source("dimension") is ParameterSource.DEFAULT:
        place["dimension"] = None
    names = tuple(name for name in (given.pop("problems") or "").split(",") if name)
    chosen = evolutions.chosen_problems(names, given.pop("objective"), place)
    store = given["store"]
    try:
        with interruptible_once():
            return assessments.assessed(ctx.info_name or "assess", problems=chosen, **given), None
    except StoreWriteError as error:
        if error.result is None:
            raise
        return error.result, error
    except KeyboardInterrupt:
        kept = f"what was run is in {store}; the same command goes on from there"
        say(f"interrupted: {kept if os.path.exists(store) else 'nothing was run yet'}", err=True)
        ctx.exit(INTERRUPTED)


@click.command(epilog=examples("robustforge reproduce --scale smoke --store smoke.db --results smoke"))
@click.option("--scale", type=click.Choice(SCALES), default="small", help="A minute, hours, or a day.")
@click.option("--store", default="paper.db", metavar="FILE", help="Keeps every run.")
@click.option("--results", default="docs/results", metavar="FOLDER", help="Gets what comes out, case by case.")
@click.option("--workers", type=COUNT, metavar="N", show_default="all cores", help="Cores of this machine.")
@click.pass_context
def reproduce(ctx: click.Context, /, scale: str, store: str, results: str, workers: int | None) -> None:
    """Do the study of the paper again.

    22 evolutions, their champions assessed as in the paper, and beside them on the variants of the problems, with
    comparators and controls. A case whose outcome is in the folder of results is not run again, and the same command
    goes on wherever it stopped.
    """
    from robustforge.cli import live, log
    from robustforge.study import reproduce as carry_out

    now: list[str] = []
    try:
        with interruptible_once(), log.lines("reproduce", lambda: "".join(now)) as line:

            def announce(text: str) -> None:
                now[:] = [text]
                line(text)

            carry_out(scale, store, results, workers=workers, announce=announce, watch=live.Lines(line))
    except KeyboardInterrupt:
        say(f"interrupted: what was run is in {store}; the same command goes on from there", err=True)
        ctx.exit(INTERRUPTED)
    say(f"done: robustforge report {results} puts it onto a page")
