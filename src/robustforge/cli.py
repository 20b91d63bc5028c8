"""The command line: solve a test problem, verify a design, list what there is. Thin, on top of everything else.

Only click and the standard library are imported here, so that `--help` answers before Numba is loaded; each command
imports what it needs. `records` holds what the commands hand out as data, `screens` shows it to people.
"""

from __future__ import annotations

import secrets
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click

from robustforge import __version__

if TYPE_CHECKING:
    from robustforge.problem import Problem
    from robustforge.records import Record

F = TypeVar("F", bound=Callable[..., Any])

DONE, FAILED, WRONG_CALL, INTERRUPTED = 0, 1, 2, 130

DIMENSION = 30
VARIANTS = ("original", "shifted", "rotated", "shifted-rotated")
OUTSIDE = ("evaluate", "clip", "shrink")
ON_FAILURE = ("raise", "infeasible", "unknown")

_LARGEST_FILE = 100_000_000


class Commands(click.Group):
    """A group of commands whose mistakes end in one line and an exit code, never in a stack trace."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn the package's errors and Ctrl-C into a line on stderr and an exit code."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted: there is nothing to show yet", err=True)
            ctx.exit(INTERRUPTED)
        except (MemoryError, OverflowError) as error:
            _fail(ctx, f"the problem must fit into memory; {error}. Lower the dimension, the budget or the samples.")
        except ValueError as error:
            from robustforge.errors import ObjectiveError, RobustforgeError

            if not isinstance(error, RobustforgeError):
                raise
            _fail(ctx, str(error), FAILED if isinstance(error, ObjectiveError) else WRONG_CALL)


def _fail(ctx: click.Context, message: str, code: int = WRONG_CALL) -> NoReturn:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    ctx.exit(code)


def _epilog(*examples: str) -> str:
    return "\b\nExample:\n" + "\n".join(f"  {example}" for example in examples)


def _problem_options(command: F) -> F:
    """Add the options that choose a test problem; not given, they are `None`."""
    options = (
        click.option("--dimension", type=int, metavar="N", show_default=str(DIMENSION), help="Number of variables."),
        click.option("--variant", type=click.Choice(VARIANTS), show_default="original", help="Move or turn the problem."),
        click.option("--variant-seed", type=int, metavar="N", help="Decides the variant; required by all but original."),
        click.option(
            "--outside", type=click.Choice(OUTSIDE), show_default="evaluate", help="What happens to points outside the box."
        ),
    )
    for option in reversed(options):
        command = option(command)
    return command


_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True, "max_content_width": 100},
    epilog=_epilog("robustforge solve rastrigin --dimension 30 --heuristic rpso+dd --seed 1 -o result.json", "robustforge verify result.json"),
)
@click.version_option(__version__, prog_name="robustforge")
def main() -> None:
    """Find designs whose worst case within their tolerances is best.

    Exit codes: 0 done, 1 the work failed, 2 the call was wrong, 130 interrupted.
    """


@main.command(epilog=_epilog("robustforge solve rastrigin --dimension 30 --heuristic rpso+dd --seed 1 -o result.json"))
@click.argument("problem")
@_problem_options
@click.option("--heuristic", metavar="NAME", show_default="one that suits the dimension", help="A name, or a .json file.")
@click.option("--budget", type=int, default=2000, metavar="N", help="Evaluations in all.")
@click.option("--seed", type=int, metavar="N", show_default="drawn, and shown", help="Decides the search: same seed, same answer.")
@click.option("--on-failure", type=click.Choice(ON_FAILURE), default="raise", help="What an evaluation without a value means.")
@click.option("-o", "--output", type=click.Path(dir_okay=False, writable=True), metavar="FILE", help="Save the result as JSON.")
@_json
@click.pass_context
def solve(
    ctx: click.Context,
    problem: str,
    dimension: int | None,
    variant: str | None,
    variant_seed: int | None,
    outside: str | None,
    heuristic: str | None,
    budget: int,
    seed: int | None,
    on_failure: str,
    output: str | None,
    as_json: bool,
) -> None:
    """Solve one of the ten test problems.

    Ctrl-C ends the search early: the best design so far is printed (and saved), and the exit code is 130.
    """
    from robustforge import records, screens

    _check_output(output)
    spec = _spec(problem, dimension, variant, variant_seed, outside)
    made = records.build_problem(spec)
    drawn = secrets.randbits(32) if seed is None else seed
    started = time.perf_counter()
    result, interrupted = _search(made, budget, heuristic, drawn, on_failure)
    record = records.result_record(spec, heuristic, budget, drawn, result, time.perf_counter() - started)
    try:
        if output:
            _save(ctx, output, records.to_json(record))
    finally:  # a full disk must not take the answer along
        if as_json:
            click.echo(records.to_json(record), nl=False)
        else:
            screens.show_result(record, _radius(made), result.heuristic.describe(budget), output)
    if interrupted:
        click.echo("interrupted: this is the best so far", err=True)
        ctx.exit(INTERRUPTED)
    ctx.exit(DONE if result.success else FAILED)


def _search(made: Problem, budget: int, heuristic: str | None, seed: int, on_failure: Any) -> tuple[Any, bool]:
    """Return the result of a search, and whether Ctrl-C ended it."""
    import robustforge as rf
    from robustforge import screens

    try:
        with screens.progress(budget) as callback:
            return rf.minimize(
                made, budget=budget, heuristic=heuristic, rng=seed, callback=callback, on_failure=on_failure
            ), False
    except KeyboardInterrupt as error:
        result = getattr(error, "result", None)
        if result is None:
            raise
        result.message = f"interrupted; {result.message}"
        return result, True


@main.command(
    epilog=_epilog(
        "robustforge verify result.json",
        "robustforge verify sphere --dimension 30 --x 20",
        "robustforge solve sphere --json | robustforge verify -",
    )
)
@click.argument("target", metavar="RESULT|PROBLEM")
@click.option("--x", "design", metavar="X", help="The design: 1.5,2,... or one number for all variables.")
@_problem_options
@click.option("--samples", type=int, default=1_000_000, metavar="N", help="Random points around the design.")
@click.option("--seed", type=int, default=1, metavar="N", help="Decides the random points.")
@_json
def verify(
    target: str,
    design: str | None,
    dimension: int | None,
    variant: str | None,
    variant_seed: int | None,
    outside: str | None,
    samples: int,
    seed: int,
    as_json: bool,
) -> None:
    """Look for the true worst case of a design: what `solve` saved, or any design of a test problem."""
    import robustforge as rf
    from robustforge import records, screens

    options = (dimension, variant, variant_seed, outside)
    known = None
    if design is None:
        spec, x, known = _read_result(target, options)
    else:
        x = _read_design(design, dimension)
        spec = _spec(target, len(x), *options[1:])
    made = records.build_problem(spec)
    with screens.waiting(f"looking for the worst of {samples:,} points, then attacking"):
        found = rf.verify(made, x, samples=samples, rng=seed)
    record = records.verification_record(spec, x, known, samples, seed, found)
    if as_json:
        click.echo(records.to_json(record), nl=False)
    else:
        screens.show_verification(record, _radius(made))


@main.command(epilog=_epilog("robustforge problems"))
@_json
def problems(as_json: bool) -> None:
    """List the test problems."""
    from robustforge import records, screens

    rows = records.problem_rows()
    if as_json:
        click.echo(records.to_json(rows), nl=False)
    else:
        screens.show_problems(rows)


@main.command(epilog=_epilog("robustforge heuristics rpso+dd --json > mine.json"))
@click.argument("name", required=False)
@_json
def heuristics(name: str | None, as_json: bool) -> None:
    """List the ready-made heuristics, or explain one: a name, or a .json file."""
    import robustforge as rf
    from robustforge import records, screens

    if name is None:
        rows = records.heuristic_rows()
        if as_json:
            click.echo(records.to_json(rows), nl=False)
        else:
            screens.show_heuristics(rows)
        return
    chosen = rf.heuristic(name)
    if as_json:
        click.echo(chosen.to_json(), nl=False)
    else:
        screens.show_heuristic(name, chosen)


@main.command(epilog=_epilog("robustforge components network"))
@click.argument("slot", required=False)
@_json
def components(slot: str | None, as_json: bool) -> None:
    """List the parts that heuristics are made of, all or those of one slot."""
    from robustforge import records, screens

    rows = records.component_rows(slot)
    if as_json:
        click.echo(records.to_json(rows), nl=False)
    else:
        screens.show_components(rows)


def _spec(name: str, dimension: int | None, variant: str | None, variant_seed: int | None, outside: str | None) -> Record:
    return {
        "name": name,
        "dimension": DIMENSION if dimension is None else dimension,
        "variant": variant or "original",
        "variant_seed": variant_seed,
        "outside": outside or "evaluate",
    }


def _radius(made: Problem) -> float:
    return float(made.geometry.radii.max())


def _check_output(output: str | None) -> None:
    """Refuse a file that cannot be written before the search, not after it."""
    from robustforge.errors import ProblemError

    if output and not Path(output).absolute().parent.is_dir():
        raise ProblemError("--output must be in a folder that exists", f"got {output}", "Create the folder first")


def _save(ctx: click.Context, path: str, text: str) -> None:
    try:
        Path(path).write_text(text, encoding="utf-8")
    except OSError as error:
        _fail(ctx, f"the result must be saved; writing failed: {error}. Choose another -o.", FAILED)


def _read_result(target: str, options: tuple[Any, ...]) -> tuple[Record, list[float], Record | None]:
    """Return spec, design and known worst point of a saved result."""
    from robustforge import records
    from robustforge.errors import ProblemError
    from robustforge.problem import problems

    fix = "Pass what `robustforge solve -o result.json` wrote, or a problem with --x"
    if target in problems() and not Path(target).exists():
        raise ProblemError("a problem to verify must come with a design", f"{target} has no --x", "Add for instance --x 20")
    if any(option is not None for option in options):
        raise ProblemError("a result brings its problem along", "it was given twice", "Leave the options of the problem out")
    try:
        if target != "-" and Path(target).stat().st_size > _LARGEST_FILE:
            raise ProblemError("a result must be a small file", f"{target} is larger than {_LARGEST_FILE:,} bytes", fix)
        text = sys.stdin.read() if target == "-" else Path(target).read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ProblemError("a result must be a readable file", f"{target}: {error}", fix) from error
    result = records.parse_result(text, "standard input" if target == "-" else target)
    return result["problem"], [float(value) for value in result["x"]], records.known_worst(result)


def _read_design(text: str, dimension: int | None) -> list[float]:
    """Return the design in `--x`; one number stands for all variables."""
    from robustforge.errors import ProblemError

    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        raise ProblemError("--x must be numbers with commas between them", f"got {text!r}", "Write --x 20 or --x 1,2.5") from None
    if len(values) == 1:
        return values * (DIMENSION if dimension is None else dimension)
    if dimension not in (None, len(values)):
        raise ProblemError("--x must have one number, or one per variable", f"got {len(values)} for {dimension} variables", "Leave --dimension out")
    return values
