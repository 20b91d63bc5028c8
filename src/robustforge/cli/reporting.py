"""The command that puts everything onto a page: `report`."""

from __future__ import annotations

import click

from robustforge.cli.frame import examples, say

_PLACE = click.Path(dir_okay=False, writable=True)


@click.command(epilog=examples("robustforge report runs.db", "robustforge report runs.db --name first -o first.html"))
@click.argument("source", metavar="STORE|FOLDER")
@click.option("-o", "--output", type=_PLACE, default="report.html", metavar="FILE", help="The page to write.")
@click.option("--name", "names", multiple=True, metavar="NAME", show_default="all", help="A search or an evolution.")
def report(source: str, output: str, names: tuple[str, ...]) -> None:
    """Write a page about what was solved, bred and assessed.

    It is one HTML file with all figures and tables in it, which needs no network. It can be made while a run goes on,
    which is not disturbed. --name can be given several times.
    """
    from pathlib import Path

    from robustforge.cli import records, screens
    from robustforge.report import report as write

    records.check_folder(output)
    with screens.waiting("drawing the page"):
        write(source, output, names)
    say(f"{output}: written, {Path(output).stat().st_size / 1e6:.1f} MB; any browser shows it")
