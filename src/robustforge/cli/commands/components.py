"""`components`: list the components of heuristics."""

from __future__ import annotations

import click

from robustforge.cli.grouped_help import command
from robustforge.cli.options import json_option
from robustforge.cli.output import print_payload


@command("robustforge components", "robustforge components network")
@click.argument("slot", required=False)
@json_option
def components(slot: str | None, as_json: bool) -> None:
    """List the components that heuristics are assembled from.

    With SLOT, list the alternatives of this slot only.
    """
    from robustforge.cli.payloads.catalogue import component_rows
    from robustforge.cli.views.catalogue_view import show_components

    rows = component_rows(slot)
    print_payload(rows, as_json, lambda: show_components(rows))
