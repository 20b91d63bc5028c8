"""`champion`: extract the champion of an evolution from a store."""

from __future__ import annotations

import click

from robustforge.cli.grouped_help import command
from robustforge.cli.options import json_option, output, output_option
from robustforge.cli.output import print_payload


@command("robustforge champion runs.db --name rastrigin-30d -o champion.json")
@click.argument("store")
@output("--name", metavar="NAME", show_default="the only one", help="Name of the evolution.")
@output_option("champion")
@json_option
def champion(store: str, name: str | None, output: str | None, as_json: bool) -> None:
    """Show or save the champion of an evolution in a store.

    For an unfinished evolution, it is the best heuristic of the last complete generation.
    """
    from robustforge.cli.payloads.evolutions import champion_payload
    from robustforge.cli.payloads.json_text import check_folder
    from robustforge.cli.views.evolution_view import show_champion

    check_folder(output)
    payload, heuristic = champion_payload(store, name)
    if output:
        heuristic.save(output)
    print_payload(payload, as_json, lambda: show_champion(payload, heuristic, output))
