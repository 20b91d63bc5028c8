"""The command that takes apart what was bred: `analyse`."""

from __future__ import annotations

import click

from robustforge.cli.frame import examples, give, json_option


@click.command(
    epilog=examples(
        "robustforge analyse runs.db",
        "robustforge analyse runs.db --name rastrigin-30d --component network",
        "robustforge analyse results --cross inner,extent --csv tables",
    )
)
@click.argument("place", metavar="STORE|FOLDER")
@click.option("--name", "names", multiple=True, metavar="NAME", help="An evolution; can be given several times.")
@click.option("--component", metavar="KEY", help="Show this component alone, from the best tenth to the worst.")
@click.option("--cross", metavar="A,B", help="Show how often the alternatives of two components go together.")
@click.option("--effects/--no-effects", default=True, help="Whether to work out how much each component matters.")
@click.option("--csv", "folder", metavar="FOLDER", type=click.Path(file_okay=False), help="Write all tables there.")
@json_option
def analyse(
    place: str,
    names: tuple[str, ...],
    component: str | None,
    cross: str | None,
    effects: bool,
    folder: str | None,
    as_json: bool,
) -> None:
    """Show what the best of the bred heuristics have in common.

    All evolutions of a store or of a folder of results are analysed, or those that --name names, finished or not. Those
    whose problems have as many variables are pooled.

    \b
    Components: inner, extent, baseline, movement, network, group, stopping,
    n_dorm, n_pbest, mutation, relocation, r3; beyond the paper outer, clamp,
    order, structure, restart, returned, final.
    """
    from robustforge.analysis import read_evidence
    from robustforge.cli import analyses, screens

    pair = analyses.parse_choices(component, cross)
    evidence = read_evidence(place, names)
    closer = component is not None or cross is not None
    complete = as_json or folder is not None or not closer
    with screens.waiting("resampling the heuristics"):
        record = analyses.analysis_record(evidence, component, pair, effects and complete)
    if folder is not None:
        analyses.write_tables(record, folder)
    if closer:
        give(record, as_json, lambda: analyses.show_closer(record, folder, cross is not None))
    else:
        give(record, as_json, lambda: analyses.show_analysis(record, folder))
