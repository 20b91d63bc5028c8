"""`problems`: list the test problems."""

from __future__ import annotations

from robustforge.cli.grouped_help import command
from robustforge.cli.options import json_option
from robustforge.cli.output import print_payload


@command("robustforge problems")
@json_option
def problems(as_json: bool) -> None:
    """List the test problems."""
    from robustforge.cli.payloads.catalogue import problem_rows
    from robustforge.cli.views.catalogue_view import show_problems

    rows = problem_rows()
    print_payload(rows, as_json, lambda: show_problems(rows))
