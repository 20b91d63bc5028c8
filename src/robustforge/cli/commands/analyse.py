"""`analyse`: the components of evolved heuristics, and their effects."""

from __future__ import annotations

import click

from robustforge.cli.grouped_help import GroupedCommand, command, heading
from robustforge.cli.options import json_option, output, verbosity_options
from robustforge.cli.output import print_payload

_analysis = heading("Analysis")


class _AnalyseCommand(GroupedCommand):
    """A command whose help lists the components, which are known from their classes."""

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from robustforge.analysis.features import BEYOND_PAPER, COMPONENTS

        super().format_help_text(ctx, formatter)
        paper = ", ".join(key for key in COMPONENTS if key not in BEYOND_PAPER)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(f"Components: {paper}; beyond the paper {', '.join(BEYOND_PAPER)}.")


@command(
    "robustforge analyse runs.db",
    "robustforge analyse runs.db --name rastrigin-30d --component network",
    "robustforge analyse results --cross inner,extent --csv tables",
    cls=_AnalyseCommand,
)
@click.argument("path", metavar="STORE|FOLDER")
@_analysis(
    "--name", "names", multiple=True, metavar="NAME", show_default="all", help="Evolution to analyse (repeatable)."
)
@_analysis("--component", metavar="KEY", help="Show one component, from the best to the worst tenth.")
@_analysis("--cross", metavar="A,B", help="Show the joint frequencies of two components.")
@_analysis("--effects/--no-effects", default=True, help="Whether to estimate the effects of the components.")
@output("--csv", "folder", metavar="FOLDER", type=click.Path(file_okay=False), help="Write all tables as CSV.")
@json_option
@verbosity_options
def analyse(
    path: str,
    names: tuple[str, ...],
    component: str | None,
    cross: str | None,
    effects: bool,
    folder: str | None,
    as_json: bool,
) -> None:
    """Analyse the components of evolved heuristics.

    STORE is a store of `robustforge evolve`, FOLDER a folder of results. Finished and unfinished evolutions are
    analysed; those with the same number of variables are pooled.
    """
    from robustforge.analysis import read_dataset
    from robustforge.cli.payloads import analyses
    from robustforge.cli.views import analysis_view
    from robustforge.cli.views.progress_bars import spinner

    pair = analyses.parse_choices(component, cross)
    dataset = read_dataset(path, names)
    detail = component is not None or cross is not None
    complete = as_json or folder is not None or not detail
    with spinner("resampling the heuristics"):
        payload = analyses.analysis_payload(dataset, component, pair, effects and complete)
    if folder is not None:
        analyses.write_tables(payload, folder)
    if detail:
        print_payload(payload, as_json, lambda: analysis_view.show_detail(payload, folder, cross is not None))
    else:
        print_payload(payload, as_json, lambda: analysis_view.show_analysis(payload, folder))
