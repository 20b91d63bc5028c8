"""`assess`: measure the performance of heuristics, by `rf.assess`. `compare` shares its options."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from robustforge.cli.grouped_help import command, heading, together
from robustforge.cli.options import (
    BUDGET,
    COUNT,
    FAILED,
    SAMPLES,
    SEED,
    explicit_options,
    json_option,
    objective_option,
    output,
    problem,
    problem_options,
    time_limit_option,
    verbosity_options,
    workers_option,
)
from robustforge.cli.output import end_interrupted, print_payload
from robustforge.cli.signals import interruptible_once
from robustforge.errors import StoreWriteError

assessment = heading("Assessment")

assessment_options = together(
    click.argument("contestants", nargs=-1, required=True),
    problem("--problems", metavar="A,B", help="Names of test problems, or all."),
    objective_option,
    problem_options,
    assessment("--runs", type=COUNT, default=200, metavar="N", help="Runs of each contestant on each problem."),
    assessment("--budget", type=BUDGET, default=2000, metavar="N", help="Evaluations per run."),
    assessment(
        "--samples",
        type=SAMPLES,
        default=1_000_000,
        metavar="N",
        help="Random points around each design; the worst is its value.",
    ),
    assessment("--attack/--no-attack", default=True, help="Whether to attack each design as well."),
    assessment("--seed", type=SEED, default=1, metavar="N", help="Random seed; the same seed gives the same runs."),
    workers_option,
    time_limit_option,
    output("--store", default="runs.db", metavar="FILE", help="Database of all runs; stored runs are not repeated."),
    output("--csv", "csv_file", type=click.Path(dir_okay=False), metavar="FILE", help="Write the table as CSV."),
    json_option,
    verbosity_options,
)


@command(
    "robustforge assess rpso+dd --problems sphere --runs 20 --samples 10000",
    "robustforge assess champion.json --problems all --dimension 30 --runs 200",
)
@assessment_options
@output(
    "--iohprofiler",
    "ioh_folder",
    type=click.Path(file_okay=False),
    metavar="FOLDER",
    help="Write the anytime curves for IOHanalyzer.",
)
@click.pass_context
def assess(ctx: click.Context, /, as_json: bool, csv_file: str | None, ioh_folder: str | None, **options: Any) -> None:
    """Measure the performance of heuristics over many runs.

    CONTESTANTS are heuristics by name or as .json files, or the controls centre, random, cma-es and cma-es-worst-of-4.
    A suffix such as @5000 sets a contestant's own budget.

    The value of a returned design is the worst of its samples; an attack gives a second estimate.
    """
    import robustforge as rf
    from robustforge.cli.payloads import assessments, json_text
    from robustforge.cli.views.assessment_view import show_assessment

    json_text.check_folder(csv_file, "--csv")
    found, store_error = run_assessment(ctx, rf.assess, options)
    payload = assessments.assessment_payload(found, options["store"])
    json_text.save_csv(payload["summaries"], csv_file)
    if ioh_folder and payload["failures"] < payload["runs"]:
        found.to_iohprofiler(ioh_folder)
    print_payload(payload, as_json, lambda: show_assessment(payload))
    if store_error is not None:  # the completed runs are printed although the store was lost
        raise store_error
    ctx.exit(FAILED if payload["failures"] == payload["runs"] else 0)


def run_assessment(
    ctx: click.Context, function: Callable[..., Any], options: dict[str, Any]
) -> tuple[Any, StoreWriteError | None]:
    """Return what `rf.assess` or `rf.compare` returns for the options, and the error if the store was lost.

    Ctrl-C ends the command.
    """
    from robustforge.cli.load_problem import chosen_problems
    from robustforge.cli.views.progress_bars import assessment_runs

    store = options["store"]
    spec = {key: options.pop(key) for key in ("dimension", "variant", "variant_seed", "out_of_bounds")}
    names = tuple(name for name in (options.pop("problems") or "").split(",") if name)
    chosen = chosen_problems(names, options.pop("objective"), spec, "dimension" in explicit_options(ctx, "dimension"))
    contestants = list(options.pop("contestants"))
    try:
        with interruptible_once(), assessment_runs(ctx.info_name or "assess") as callback:
            return function(contestants, chosen, on_progress=callback, **options), None
    except StoreWriteError as error:
        if error.result is None:
            raise
        return error.result, error
    except KeyboardInterrupt:
        end_interrupted(ctx, store)
