"""`help`: a document, or the help of a command."""

from __future__ import annotations

from typing import Any

import click

from robustforge.cli.grouped_help import command
from robustforge.cli.output import echo


@command("robustforge help", "robustforge help problem-file", "robustforge help solve", name="help")
@click.argument("topic", required=False)
@click.pass_context
def help_command(ctx: click.Context, /, topic: str | None) -> None:
    """Show a document or the help of a command.

    Without TOPIC, list the documents. A document is formatted on a terminal and printed as Markdown elsewhere.
    """
    from robustforge.cli import documents

    assert ctx.parent is not None
    group: Any = ctx.parent.command
    if topic is None:
        documents.show_topics()
    elif found := group.get_command(ctx, topic):
        with click.Context(found, info_name=topic, parent=ctx.parent) as inside:
            echo(found.get_help(inside))
    else:
        documents.show_document(documents.document(topic, group.list_commands(ctx)))
