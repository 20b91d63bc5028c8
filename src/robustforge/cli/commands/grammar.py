"""`grammar`: the production rules that heuristics are derived from."""

from __future__ import annotations

import click

from robustforge.cli.grouped_help import command
from robustforge.cli.options import grammar_options, json_option
from robustforge.cli.output import print_payload


@command(
    "robustforge grammar extended",
    "robustforge grammar letter",
    "robustforge grammar --only network=global,ring --fix swarm_size=20",
)
@click.argument("name", default="paper")
@grammar_options
@json_option
def grammar(name: str, only: tuple[str, ...], without: tuple[str, ...], fix: tuple[str, ...], as_json: bool) -> None:
    """Show the production rules of a grammar.

    NAME is paper, the grammar of the paper, letter, the same in the letter's interpretation of the paper, or extended,
    which has additional components.
    """
    from robustforge.cli.payloads.grammars import grammar_payload, parse_grammar
    from robustforge.cli.views.grammar_view import show_grammar

    payload = grammar_payload(parse_grammar(name, only, without, fix))
    print_payload(payload, as_json, lambda: show_grammar(payload))
