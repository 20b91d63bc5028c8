"""`reproduce`: repeat the study of the paper."""

from __future__ import annotations

import click

from robustforge.cli import log
from robustforge.cli.grouped_help import command, heading
from robustforge.cli.options import output, verbosity_options, workers_option
from robustforge.cli.output import echo, end_interrupted
from robustforge.cli.signals import interruptible_once

SCALES = ("smoke", "letter", "tuned", "paper")
FORMER_SCALES = ("small",)


@command("robustforge reproduce --scale smoke --store smoke.db --results smoke")
@heading("Study")(
    "--scale",
    type=click.Choice((*SCALES, *FORMER_SCALES)),
    default="letter",
    metavar="|".join(SCALES),
    help="smoke: a minute or two, as a test; letter: the paper's experiment; tuned: settings that were tuned until the "
    "champions reached the paper's figures; paper: the paper's operators, with the default interpretation.",
)
@workers_option
@output("--store", default="paper.db", metavar="FILE", help="Database of all runs.")
@output("--results", metavar="FOLDER", help="Folder for the results of each case.", show_default="docs/results/SCALE")
@verbosity_options
@click.pass_context
def reproduce(ctx: click.Context, /, scale: str, store: str, results: str | None, workers: int | None) -> None:
    """Repeat the study of the paper.

    It consists of 22 evolutions and the assessment of their champions, as in the paper and on the variants of the
    problems, beside comparators and controls. Cases with results in the folder are not repeated, and the same command
    resumes an interrupted study.
    """
    from robustforge.cli.views.live_evolution import StudyProgress
    from robustforge.study import reproduce as run_study

    progress = StudyProgress()
    try:
        with interruptible_once(), log.progress_lines("reproduce", progress.status):
            folder = run_study(scale, store, results, workers=workers, log=progress.announce)
    except KeyboardInterrupt:
        end_interrupted(ctx, store)
    echo(f"done: `robustforge report {folder}` writes a page about it")
