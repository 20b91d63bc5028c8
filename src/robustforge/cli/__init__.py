"""The command line, on top of everything else.

`commands` has a module per command, `payloads` the plain data that `--json` prints, `views` what a terminal shows.
"""

from __future__ import annotations

import click

from robustforge import __version__
from robustforge.cli.command_group import CommandGroup
from robustforge.cli.grouped_help import examples_text

_SECTIONS = {
    "Robust designs": {
        "check": "problem_file",
        "solve": "solve",
        "verify": "verify",
        "ask": "problem_file",
        "tell": "problem_file",
    },
    "Evolution of heuristics": {"evolve": "evolve", "runs": "runs", "champion": "champion"},
    "Experiments": {
        "assess": "assess",
        "compare": "compare",
        "analyse": "analyse",
        "report": "report",
        "reproduce": "reproduce",
    },
    "Reference": {
        "problems": "problems",
        "heuristics": "heuristics",
        "show": "show",
        "components": "components",
        "grammar": "grammar",
        "help": "help",
    },
}
"""The module of each command, under the headings of the help."""


@click.group(
    cls=CommandGroup,
    sections=_SECTIONS,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=examples_text(
        "robustforge solve rastrigin --heuristic rpso+dd --seed 1 -o result.json",
        "robustforge verify result.json",
        "robustforge evolve rastrigin --dimension 10 --population 20 --generations 10",
    ),
)
@click.version_option(__version__, prog_name="robustforge")
def main() -> None:
    """Find the design whose worst case within its tolerances is best.

    Exit codes: 0 success, 1 failure, 2 invalid call, 130 interrupted.
    """
