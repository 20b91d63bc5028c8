"""The command line: solve a test problem, verify a design, show what there is. Thin, on top of everything else.

Only click and the standard library are imported here, so that `--help` answers before Numba is loaded; each command
imports what it needs. `records`, `listings` and `grammars` hold what the commands hand out, `screens` shows it.
"""

from __future__ import annotations

import errno
import secrets
import signal
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import click
from click.core import ParameterSource

from robustforge import __version__

if TYPE_CHECKING:
    from robustforge.problem import Problem

F = TypeVar("F", bound=Callable[..., Any])

FAILED, WRONG_CALL, INTERRUPTED = 1, 2, 130
"""Exit codes beside 0: the work failed, the call was wrong, Ctrl-C (128 + SIGINT, as shells have it)."""

SEED, SAMPLES, BUDGET = click.IntRange(min=0), click.IntRange(1, 10**9), click.IntRange(min=3)
VARIANTS = ("original", "shifted", "rotated", "shifted-rotated")
OUTSIDE = ("evaluate", "clip", "shrink")
ON_FAILURE = ("raise", "infeasible", "unknown")


class Commands(click.Group):
    """Commands whose errors end in one line and an exit code, never in a stack trace."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the commands in the order of the work, which is that of this file."""
        return list(self.commands)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn the package's errors and Ctrl-C into a line on stderr and an exit code."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("interrupted: there is nothing to show yet", err=True)
            ctx.exit(INTERRUPTED)
        except (MemoryError, OverflowError) as error:
            fact = str(error) or "it does not"
            _fail(ctx, f"the work must fit into memory; {fact}. Lower the dimension, the budget or the samples.")
        except OSError as error:
            if error.errno == errno.EPIPE:  # click ends quietly, as `| head` expects
                raise
            _fail(ctx, f"files must be readable and writable; {error}. Choose another file.", FAILED)
        except ValueError as error:
            from robustforge.errors import ObjectiveError, RobustforgeError

            if not isinstance(error, RobustforgeError):
                raise
            _fail(ctx, str(error), FAILED if isinstance(error, ObjectiveError) else WRONG_CALL)


def _fail(ctx: click.Context, message: str, code: int = WRONG_CALL) -> NoReturn:
    click.echo(f"error: {' '.join(message.split())}", err=True)
    ctx.exit(code)


def _examples(*lines: str) -> str:
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)])


def _options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator that adds all these options, in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def _choice(flag: str, meaning: str, names: tuple[str, ...]) -> Callable[[F], F]:
    words = f"{', '.join(names[:-1])} or {names[-1]}"
    kind = click.Choice(names)
    return click.option(flag, type=kind, default=names[0], metavar="NAME", help=f"{meaning}: {words}.")


_problem = _options(
    click.option("--dimension", type=int, default=30, metavar="N", help="Number of variables."),
    _choice("--variant", "The problem moved or turned", VARIANTS),
    click.option("--variant-seed", type=SEED, metavar="N", help="Decides the variant, which needs one."),
    _choice("--outside", "What to do with points off the box", OUTSIDE),
)
_search = _options(
    click.option("--heuristic", metavar="NAME", show_default="by dimension", help="A name, or a .json file."),
    click.option("--budget", type=int, default=2000, metavar="N", help="Evaluations in all."),
    click.option("--seed", type=SEED, metavar="N", show_default="drawn, and shown", help="Same seed, same answer."),
    _choice("--on-failure", "What a failed evaluation does", ON_FAILURE),
)
_grammar = _options(
    click.option("--only", multiple=True, metavar="SLOT=A,B", help="Keep these alternatives of a slot."),
    click.option("--without", multiple=True, metavar="NAME", help="Leave an alternative out, e.g. leh."),
    click.option("--fix", multiple=True, metavar="FIELD=VALUE", help="Fix a value, or its limits: 20, 0.5:2, yes."),
)
_json = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def _output(what: str) -> Callable[[F], F]:
    kind = click.Path(dir_okay=False, writable=True)
    return click.option("-o", "--output", metavar="FILE", type=kind, help=f"Save the {what} as JSON.")


@click.group(
    cls=Commands,
    context_settings={"help_option_names": ["-h", "--help"], "show_default": True},
    epilog=_examples(
        "robustforge solve rastrigin --heuristic rpso+dd --seed 1 -o result.json", "robustforge verify result.json"
    ),
)
@click.version_option(__version__, prog_name="robustforge")
def main() -> None:
    """Find designs whose worst case within their tolerances is best.

    Exit codes: 0 done, 1 the work failed, 2 the call was wrong, 130 interrupted.
    """


@main.command(epilog=_examples("robustforge solve rastrigin --heuristic rpso+dd --seed 1 -o result.json"))
@click.argument("problem")
@_problem
@_search
@_output("result")
@_json
@click.pass_context
def solve(
    ctx: click.Context,
    /,
    problem: str,
    heuristic: str | None,
    budget: int,
    seed: int | None,
    on_failure: str,
    output: str | None,
    as_json: bool,
    **options: Any,
) -> None:
    """Solve one of the ten test problems.

    Ctrl-C ends the search: the best design so far is printed and saved, and the exit code is 130.
    """
    from robustforge.cli import records, screens

    records.check_folder(output)
    spec = {"name": problem, **options}
    made = records.build_problem(spec)
    seed = secrets.randbits(32) if seed is None else seed
    started = time.perf_counter()
    result, interrupted = _solved(made, budget=budget, heuristic=heuristic, rng=seed, on_failure=on_failure)
    if interrupted:
        result.message = f"interrupted; {result.message}"
    record = records.result_record(spec, heuristic, budget, seed, result, time.perf_counter() - started)
    saved = False
    try:
        saved = records.save(record, output)
    finally:  # a full disk must not take the answer along
        _give(record, as_json, lambda: screens.show_result(record, _radius(made), output if saved else None))
    if interrupted:
        click.echo("interrupted: this is the best so far", err=True)
        ctx.exit(INTERRUPTED)
    ctx.exit(0 if result.success else FAILED)


def _solved(made: Problem, **arguments: Any) -> tuple[Any, bool]:
    """Return the result of a search, and whether Ctrl-C ended it."""
    import robustforge as rf
    from robustforge.cli import screens

    if screens.on_terminal():
        return _solved_in_sight(made, **arguments)
    try:
        return rf.minimize(made, **arguments), False
    except KeyboardInterrupt as error:
        result = getattr(error, "result", None)
        if result is None:
            raise
        return result, True


def _solved_in_sight(made: Problem, **arguments: Any) -> tuple[Any, bool]:
    """Do the same with a bar, by ask and tell: a callback would cost a whole result an iteration, 20 times the search.

    Ctrl-C is heard between two batches, where the search is in order.
    """
    import robustforge as rf
    from robustforge.cli import screens

    search = rf.Optimizer(made, **arguments)
    search.ask()  # may compile, which Ctrl-C may end; the points are asked for again below
    pressed: list[int] = []
    before = signal.signal(signal.SIGINT, lambda number, frame: pressed.append(number))
    try:
        with screens.progress(search.budget) as update:
            while not pressed and (batch := search.ask()):
                search.tell(batch.ids, [made(x) for x in batch.x])
                update(search.nfev)
    finally:
        signal.signal(signal.SIGINT, before)
    return search.result(), not search.over


@main.command(
    epilog=_examples(
        "robustforge verify result.json",
        "robustforge verify sphere --dimension 30 --x 20",
        "robustforge solve sphere --json | robustforge verify -",
    )
)
@click.argument("target", metavar="RESULT|PROBLEM")
@click.option("--x", "design", metavar="X", help="A design: 1,2.5,... or one number for all variables.")
@_problem
@click.option("--samples", type=SAMPLES, default=1_000_000, metavar="N", help="Random points around the design.")
@click.option("--seed", type=SEED, default=1, metavar="N", help="Decides the random points.")
@_json
@click.pass_context
def verify(
    ctx: click.Context, /, target: str, design: str | None, samples: int, seed: int, as_json: bool, **options: Any
) -> None:
    """Look for the true worst case of a design.

    The design is the one that `solve` saved, or with --x any design of a test problem.
    """
    import robustforge as rf
    from robustforge.cli import records, screens

    given = [key for key in options if ctx.get_parameter_source(key) is not ParameterSource.DEFAULT]
    if design is None:
        records.check_alone(target, given)
        result = records.read_result(target)
        spec, x, known = result["problem"], result["x"], records.known_worst(result)
    else:
        x, known = records.parse_design(design, options["dimension"], "dimension" in given), None
        spec = {"name": target, **options, "dimension": len(x) or options["dimension"]}
    made = records.build_problem(spec)
    with screens.waiting(f"trying {samples:,} points around the design, then climbing"):
        found = rf.verify(made, x, samples=samples, rng=seed)
    record = records.verification_record(spec, x, known, samples, seed, found)
    _give(record, as_json, lambda: screens.show_verification(record, _radius(made)))


@main.command(epilog=_examples("robustforge problems"))
@_json
def problems(as_json: bool) -> None:
    """List the test problems."""
    from robustforge.cli import listings, screens

    rows = listings.problem_rows()
    _give(rows, as_json, lambda: screens.show_problems(rows))


@main.command(epilog=_examples("robustforge heuristics"))
@_json
def heuristics(as_json: bool) -> None:
    """List the ready-made heuristics."""
    from robustforge.cli import listings, screens

    rows = listings.heuristic_rows()
    _give(rows, as_json, lambda: screens.show_heuristics(rows))


@main.command(epilog=_examples("robustforge show rpso+dd", "robustforge show rpso+dd -o mine.json"))
@click.argument("heuristic")
@click.option("--budget", type=BUDGET, default=2000, metavar="N", help="Evaluations that it is shown for.")
@_output("heuristic")
@_json
def show(heuristic: str, budget: int, output: str | None, as_json: bool) -> None:
    """Show a heuristic: its tree, in words, and as pseudo-code.

    HEURISTIC is the name of a ready-made one, or a .json file. The pseudo-code is the paper's Algorithm 1 as this
    heuristic runs it, with every choice and number filled in.
    """
    import robustforge as rf
    from robustforge.cli import listings, records, screens

    records.check_folder(output)
    chosen = rf.heuristic(heuristic)
    if output:
        chosen.save(output)
    record = listings.heuristic_record(heuristic, chosen, budget)
    _give(record, as_json, lambda: screens.show_heuristic(record, output))


@main.command(epilog=_examples("robustforge components", "robustforge components network"))
@click.argument("slot", required=False)
@_json
def components(slot: str | None, as_json: bool) -> None:
    """List the parts that heuristics are made of.

    With SLOT, only those that can stand in it.
    """
    from robustforge.cli import listings, screens

    rows = listings.component_rows(slot)
    _give(rows, as_json, lambda: screens.show_components(rows))


@main.command(
    epilog=_examples("robustforge grammar extended", "robustforge grammar --only network=global,ring --fix group=20")
)
@click.argument("name", default="paper")
@_grammar
@_json
def grammar(name: str, only: tuple[str, ...], without: tuple[str, ...], fix: tuple[str, ...], as_json: bool) -> None:
    """Show the rules that heuristics are derived by.

    NAME is paper, the paper's own rules, or extended, with what was added to them. Each restriction can be given
    several times.
    """
    from robustforge.cli import grammars, screens

    record = grammars.grammar_record(grammars.parse_grammar(name, only, without, fix))
    _give(record, as_json, lambda: screens.show_grammar(record))


def _radius(made: Problem) -> float:
    return float(made.geometry.radii.max())


def _give(record: Any, as_json: bool, show: Callable[[], None]) -> None:
    """Hand out a record: as JSON for programs, or on a screen for people."""
    from robustforge.cli import records

    if as_json:
        click.echo(records.to_json(record), nl=False)
    else:
        show()
