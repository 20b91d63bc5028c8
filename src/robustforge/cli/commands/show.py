"""`show`: a heuristic as a tree, as a description and as pseudocode."""

from __future__ import annotations

import click

from robustforge.cli.grouped_help import command
from robustforge.cli.options import BUDGET, json_option, output, output_option
from robustforge.cli.output import print_payload


@command("robustforge show rpso+dd", "robustforge show rpso+dd -o mine.json")
@click.argument("heuristic")
@output("--budget", type=BUDGET, default=2000, metavar="N", help="Evaluations that the description assumes.")
@output_option("heuristic")
@json_option
def show(heuristic: str, budget: int, output: str | None, as_json: bool) -> None:
    """Show a heuristic: its tree, a description, and its pseudocode.

    HEURISTIC is the name of a ready-made heuristic, or a .json file. The pseudocode is Algorithm 1 of the paper with
    the components and parameters of this heuristic.
    """
    import robustforge as rf
    from robustforge.cli.payloads.catalogue import heuristic_payload
    from robustforge.cli.payloads.json_text import check_folder
    from robustforge.cli.views.heuristic_view import show_heuristic

    check_folder(output)
    chosen = rf.heuristic(heuristic)
    if output:
        chosen.save(output)
    payload = heuristic_payload(heuristic, chosen, budget)
    print_payload(payload, as_json, lambda: show_heuristic(payload, output))
