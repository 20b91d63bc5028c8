"""Options that several commands share, and exit codes.

Only click, `errors` and the standard library are imported here, so that `--help` answers before Numba is loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, TypeVar

import click
from click.core import ParameterSource

from robustforge.cli.grouped_help import RenamedChoice, heading, together
from robustforge.errors import ProblemError

F = TypeVar("F", bound=Callable[..., Any])

FAILED, WRONG_CALL, INTERRUPTED = 1, 2, 130
"""Nonzero exit codes: the work failed, the call was wrong, Ctrl-C (128 + SIGINT, the convention of shells)."""

SEED, SAMPLES, BUDGET = click.IntRange(min=0), click.IntRange(1, 10**9), click.IntRange(min=3)
COUNT = click.IntRange(min=1)
VARIANTS = ("original", "shifted", "rotated", "shifted-rotated")
OUT_OF_BOUNDS = ("evaluate", "clip", "shrink")
ON_FAILURE = ("raise", "infeasible", "unknown")

problem, search, grammar = heading("Problem"), heading("Search"), heading("Grammar")
execution, output, problem_file = heading("Execution"), heading("Output"), heading("Problem file")


def choice(
    option: Callable[..., Callable[[F], F]],
    flag: str,
    meaning: str,
    words: tuple[str, ...],
    former_words: dict[str, str] | None = None,
    **attributes: Any,
) -> Callable[[F], F]:
    """Return an option that takes one of several words, the first by default.

    Args:
        option: The decorator for the heading that the option is listed under.
        flag: Its name.
        meaning: What it decides; the help continues with the words.
        words: The words.
        former_words: The present word for each former one.
        **attributes: As for `GroupedOption`.
    """
    text = f"{meaning}: {', '.join(words[:-1])} or {words[-1]}."
    kind = RenamedChoice(words, former_words or {})
    return option(flag, type=kind, default=words[0], metavar="NAME", help=text, **attributes)


problem_options = together(
    problem("--dimension", type=int, metavar="N", show_default="30, or the problem's own", help="Number of variables."),
    choice(problem, "--variant", "Variant of the problem", VARIANTS),
    problem("--variant-seed", type=SEED, metavar="N", help="Seed of the variant's shift and rotation."),
    choice(problem, "--out-of-bounds", "Policy for points outside the bounds", OUT_OF_BOUNDS, former="--outside"),
)
objective_option = problem(
    "--objective",
    metavar="MODULE:NAME",
    help="Your own problem: a Problem, a list of them, or a function of the dimension that returns either.",
)
search_options = together(
    search(
        "--heuristic",
        metavar="NAME|FILE",
        show_default="by dimension and budget",
        help="Name of a heuristic, or a .json file.",
    ),
    search(
        "--budget",
        type=int,
        default=2000,
        metavar="N",
        show_default="2000, or from the file",
        help="Number of evaluations.",
    ),
    search(
        "--seed",
        type=SEED,
        metavar="N",
        show_default="from the file, or random",
        help="Random seed; the same seed gives the same result.",
    ),
    search(
        "--verify",
        type=click.IntRange(0),
        metavar="N",
        show_default="by the heuristic, or from the file",
        help="Evaluations, out of the budget, that attack the design before it is returned; 0: none.",
    ),
    choice(
        search, "--on-failure", "Treatment of failed evaluations", ON_FAILURE, show_default="raise, or from the file"
    ),
)
grammar_options = together(
    grammar("--only", multiple=True, metavar="SLOT=A,B", help="Restrict a slot to these components (repeatable)."),
    grammar("--without", multiple=True, metavar="NAME", help="Exclude a component, e.g. leh (repeatable)."),
    grammar(
        "--fix",
        multiple=True,
        metavar="FIELD=VALUE",
        help="Fix a parameter, or restrict its range: 20, 0.5:2, yes (repeatable).",
    ),
)
store_options = together(
    problem_file(
        "--store", metavar="FILE", show_default="FILE.db for FILE.toml", help="Database of all runs of the model."
    ),
    problem_file("--name", metavar="NAME", show_default="from the file", help="Name of the search in the store."),
)
workers_option = execution(
    "--workers", type=COUNT, metavar="N", show_default="all cores", help="Number of parallel runs."
)
time_limit_option = execution(
    "--time-limit",
    type=float,
    metavar="S",
    help="Seconds after which a run counts as failed; implies worker processes.",
)
json_option = output("--json", "as_json", is_flag=True, help="Print JSON.")


def output_option(what: str) -> Callable[[F], F]:
    """Return the option that names the file to save to."""
    kind = click.Path(dir_okay=False, writable=True)
    return output("-o", "--output", metavar="FILE", type=kind, help=f"Save the {what} as JSON.")


def _set_level(ctx: click.Context, parameter: click.Parameter, given: bool) -> None:
    if given:
        logging.getLogger("robustforge").setLevel(logging.DEBUG if parameter.name == "verbose" else logging.WARNING)


verbosity_options = together(
    output(
        "-q",
        "--quiet",
        is_flag=True,
        expose_value=False,
        callback=_set_level,
        help="Print only the result, warnings and errors.",
    ),
    output(
        "-v",
        "--verbose",
        is_flag=True,
        expose_value=False,
        callback=_set_level,
        help="Print details of the progress.",
    ),
)


def explicit_options(ctx: click.Context, *names: str) -> dict[str, Any]:
    """Return those options that were given on the command line, by name."""
    return {name: ctx.params[name] for name in names if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT}


def refuse(ctx: click.Context, what: str, *names: str) -> None:
    """Refuse options that do not apply to the target of the command."""
    for name in explicit_options(ctx, *names):
        flag = next(parameter.opts[-1] for parameter in ctx.command.params if parameter.name == name)
        raise ProblemError(f"{flag} applies to {what} only", fix=f"Leave {flag} out")
