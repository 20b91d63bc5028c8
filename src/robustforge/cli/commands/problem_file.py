"""`check`, `ask` and `tell`: check a problem file, and evaluate its points by hand."""

from __future__ import annotations

import logging

import click

from robustforge.cli.grouped_help import command
from robustforge.cli.options import FAILED, json_option, output, output_option, store_options, verbosity_options
from robustforge.cli.output import print_payload
from robustforge.cli.signals import ended_by_signals

_logger = logging.getLogger(__name__)


@command("robustforge check filter.toml")
@click.argument("file")
@json_option
@verbosity_options
@click.pass_context
def check(ctx: click.Context, file: str, as_json: bool) -> None:
    """Check a problem file by one run of its model.

    Show the plan of the search. The model runs at the centre of the bounds, and nothing is stored. The exit code is 1
    if this run fails.
    """
    from robustforge.cli.load_problem import read_file
    from robustforge.cli.payloads.designs import plan_payload
    from robustforge.cli.views.design_view import show_plan

    with ended_by_signals():
        payload = plan_payload(read_file(file))
    print_payload(payload, as_json, lambda: show_plan(payload, file))
    ctx.exit(FAILED if payload["trial"] and payload["trial"]["failure"] else 0)


@command("robustforge ask lab.toml", "robustforge ask lab.toml -o points.csv")
@click.argument("file")
@store_options
@output("-o", "--output", metavar="FILE", help="Write the points as CSV, with an empty column for the values.")
@json_option
def ask(file: str, store: str | None, name: str | None, output: str | None, as_json: bool) -> None:
    """Show the points to evaluate by hand.

    FILE is a problem file without a model. `robustforge tell` takes the values of the points. The same points are shown
    until all of them have a value; the search is complete when none is left.
    """
    from robustforge.cli.load_problem import read_file, store_of
    from robustforge.cli.payloads import points
    from robustforge.cli.views.design_view import show_points
    from robustforge.solver import StoredSearch
    from robustforge.store import Store

    problem, where = read_file(file, name=name), store_of(file, store)
    with Store.open(where, durable=True) as opened:
        payload = points.points_payload(StoredSearch.open(problem, opened), where)
    if output:
        points.write_points(payload, output)
    print_payload(payload, as_json, lambda: show_points(payload, file, output))


@command(
    "robustforge tell lab.toml 0 12.5",
    "robustforge tell lab.toml points.csv",
    context_settings={"ignore_unknown_options": True},  # a value may be negative
)
@click.argument("file")
@click.argument("what", metavar="ID|CSV")
@click.argument("value", required=False)
@store_options
@output_option("result")
@json_option
def tell(
    file: str,
    what: str,
    value: str | None,
    store: str | None,
    name: str | None,
    output: str | None,
    as_json: bool,
) -> None:
    """Report the values of points that `ask` has shown.

    Give the ID of a point and its VALUE, or a CSV file from `ask -o` with values filled in. Points reported before
    with the same value are skipped. The word "failed" instead of a number reports a failed evaluation.
    """
    from robustforge.cli.load_problem import read_file, store_of
    from robustforge.cli.payloads import json_text, points
    from robustforge.cli.views.design_view import show_reported
    from robustforge.formatting import count
    from robustforge.solver import StoredSearch
    from robustforge.store import Store

    json_text.check_folder(output)
    problem, where = read_file(file, name=name), store_of(file, store)
    reported = points.parse_reported(what, value)
    with Store.open(where, durable=True) as opened:
        search = StoredSearch.open(problem, opened)
        new = search.new_reports(reported)
        for number, outcome in new:
            search.tell(number, outcome)
        search.mark_finished_if_over()
        payload = points.reported_payload(search, len(new), where)
    if skipped := len(reported) - len(new):
        _logger.info("note: %s skipped, reported before", count(skipped, "value"))
    json_text.save(payload, output)
    print_payload(payload, as_json, lambda: show_reported(payload, file, store, name, problem.model is not None))
