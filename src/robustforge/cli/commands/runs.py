"""`runs`: list the content of a store."""

from __future__ import annotations

import logging

import click

from robustforge.cli.grouped_help import command
from robustforge.cli.options import json_option, output
from robustforge.cli.output import print_payload

_logger = logging.getLogger(__name__)


@command("robustforge runs runs.db", "robustforge runs filter.db --csv earlier.csv")
@click.argument("store")
@output("--csv", "csv_file", metavar="FILE", help="Write the runs of a model as CSV, for `data` of a problem file.")
@output("--name", metavar="NAME", show_default="the only one", help="Search whose runs are written.")
@json_option
def runs(store: str, csv_file: str | None, name: str | None, as_json: bool) -> None:
    """List the evolutions, searches and assessments in a store.

    A store can be read while another command writes to it.
    """
    from robustforge.cli.payloads import stored_runs
    from robustforge.cli.views.store_view import show_runs

    if csv_file:
        count, failed = stored_runs.write_runs(store, name, csv_file)
        _logger.info("%s: %d runs written, %d failed runs left out", csv_file, count, failed)
    rows = stored_runs.run_rows(store)
    print_payload(rows, as_json, lambda: show_runs(rows))
