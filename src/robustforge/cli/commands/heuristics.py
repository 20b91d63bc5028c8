"""`heuristics`: list the ready-made heuristics."""

from __future__ import annotations

from robustforge.cli.grouped_help import command
from robustforge.cli.options import json_option
from robustforge.cli.output import print_payload


@command("robustforge heuristics")
@json_option
def heuristics(as_json: bool) -> None:
    """List the ready-made heuristics."""
    from robustforge.cli.payloads.catalogue import heuristic_rows
    from robustforge.cli.views.catalogue_view import show_heuristics

    rows = heuristic_rows()
    print_payload(rows, as_json, lambda: show_heuristics(rows))
