"""`report`: write a page about the content of a store."""

from __future__ import annotations

import click

from robustforge.cli.grouped_help import command
from robustforge.cli.options import output, verbosity_options
from robustforge.cli.output import echo


@command("robustforge report runs.db", "robustforge report runs.db --name first -o first.html")
@click.argument("source", metavar="STORE|FOLDER")
@output(
    "-o",
    "--output",
    type=click.Path(dir_okay=False, writable=True),
    default="report.html",
    metavar="FILE",
    help="Page to write.",
)
@output("--name", "names", multiple=True, metavar="NAME", show_default="all", help="Search or evolution (repeatable).")
@verbosity_options
def report(source: str, output: str, names: tuple[str, ...]) -> None:
    """Write an HTML page about searches, evolutions and assessments.

    The page is self-contained: one file with all figures and tables. It can be written while another command writes to
    the store.
    """
    from pathlib import Path

    from robustforge.cli.payloads.json_text import check_folder
    from robustforge.cli.views.progress_bars import spinner
    from robustforge.reporting import report as write

    check_folder(output)
    with spinner("writing the page"):
        write(source, output, names)
    echo(f"{output}: written, {Path(output).stat().st_size / 1e6:.1f} MB; open it in a browser")
