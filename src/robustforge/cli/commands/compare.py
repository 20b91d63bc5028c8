"""`compare`: compare heuristics and other optimisers with statistical tests, by `rf.compare`."""

from __future__ import annotations

from typing import Any

import click

from robustforge.cli.commands.assess import assessment, assessment_options, run_assessment
from robustforge.cli.grouped_help import command
from robustforge.cli.options import FAILED
from robustforge.cli.output import print_payload
from robustforge.errors import AssessmentError


@command(
    "robustforge compare rpso rpso+dd random --problems sphere --runs 20",
    "robustforge compare champion.json cma-es --problems all --by attacked",
)
@assessment_options
@assessment(
    "--by", "measure", type=click.Choice(("value", "attacked")), default="value", help="Sampled or attacked worst case."
)
@click.pass_context
def compare(ctx: click.Context, /, as_json: bool, csv_file: str | None, measure: str, **options: Any) -> None:
    """Compare heuristics and other optimisers by statistical tests.

    CONTESTANTS and options are those of `assess`. On each problem, every contestant is compared with the best one by
    Wilcoxon's rank-sum test at the 5% level.
    """
    import robustforge as rf
    from robustforge.cli.payloads import assessments, json_text
    from robustforge.cli.views.assessment_view import show_comparison

    json_text.check_folder(csv_file, "--csv")
    if measure == "attacked" and not options["attack"]:
        raise AssessmentError("--by attacked needs the attack", fix="Leave --no-attack out")
    found, store_error = run_assessment(ctx, rf.compare, {**options, "measure": measure})
    payload = assessments.comparison_payload(found, options["store"])
    json_text.save_csv(payload["cells"], csv_file)
    print_payload(payload, as_json, lambda: show_comparison(payload))
    if store_error is not None:
        raise store_error
    ctx.exit(FAILED if payload["failures"] == payload["runs"] else 0)
