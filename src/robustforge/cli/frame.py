"""What all commands share: how they end, the options that several have, and how a record is handed out.

Only click, `errors` and the standard library are imported here, so that `--help` answers before Numba is loaded.
"""

from __future__ import annotations

import errno
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, NoReturn, TypeVar

import click

from robustforge.errors import ModelError, ObjectiveError, ProblemFileError, RobustforgeError, StoreWriteError, escaped

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
            say("interrupted: there is nothing to show yet", err=True)
            ctx.exit(INTERRUPTED)
        except (MemoryError, OverflowError) as error:
            fact = str(error) or "it does not"
            fail(ctx, f"the work must fit into memory; {fact}. Lower the dimension, the budget or the samples.")
        except OSError as error:
            if error.errno == errno.EPIPE:  # click ends quietly, as `| head` expects
                raise
            fail(ctx, f"files must be readable and writable; {error}. Choose another file.", FAILED)
        except ValueError as error:
            if not isinstance(error, RobustforgeError):
                raise
            failed = isinstance(error, (ModelError, ObjectiveError, StoreWriteError))
            fail(ctx, str(error), FAILED if failed else WRONG_CALL, isinstance(error, (ModelError, ProblemFileError)))


@contextmanager
def interruptible_once() -> Iterator[None]:
    """Hear the first Ctrl-C only: a second one would break into the tidying up after it."""

    def once(number: int, frame: Any) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, once)
    try:
        yield
    finally:
        if signal.getsignal(signal.SIGINT) is once:
            signal.signal(signal.SIGINT, signal.default_int_handler)


def say(text: str, err: bool = False) -> None:
    """Print a line, with nothing in it that a terminal obeys: names and paths may hold it."""
    click.echo(escaped(text), err=err)


def fail(ctx: click.Context, message: str, code: int = WRONG_CALL, in_lines: bool = False) -> NoReturn:
    """End the command with an error, in one line unless its lines have a meaning."""
    say(f"error: {message if in_lines else ' '.join(message.split())}", err=True)
    ctx.exit(code)


def examples(*lines: str) -> str:
    """Return the end of a help text."""
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)])


def options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator that adds all these options, in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add


def choice(flag: str, meaning: str, names: tuple[str, ...]) -> Callable[[F], F]:
    """Return an option that takes one of some words."""
    words = f"{', '.join(names[:-1])} or {names[-1]}"
    kind = click.Choice(names)
    return click.option(flag, type=kind, default=names[0], metavar="NAME", help=f"{meaning}: {words}.")


problem_options = options(
    click.option("--dimension", type=int, default=30, metavar="N", help="Number of variables."),
    choice("--variant", "The problem moved or turned", VARIANTS),
    click.option("--variant-seed", type=SEED, metavar="N", help="Decides the variant, which needs one."),
    choice("--outside", "What to do with points off the box", OUTSIDE),
)
search_options = options(
    click.option("--heuristic", metavar="NAME", show_default="by dimension", help="A name, or a .json file."),
    click.option(
        "--budget", type=int, default=2000, metavar="N", show_default="2000, or of the file", help="Evaluations in all."
    ),
    click.option(
        "--seed", type=SEED, metavar="N", show_default="of the file, or drawn and shown", help="Same seed, same answer."
    ),
    choice("--on-failure", "What a failed evaluation does, unless a file says so", ON_FAILURE),
)
grammar_options = options(
    click.option("--only", multiple=True, metavar="SLOT=A,B", help="Keep these alternatives of a slot."),
    click.option("--without", multiple=True, metavar="NAME", help="Leave an alternative out, e.g. leh."),
    click.option("--fix", multiple=True, metavar="FIELD=VALUE", help="Fix a value, or its limits: 20, 0.5:2, yes."),
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON, for programs.")


def output_option(what: str) -> Callable[[F], F]:
    """Return the option that names the file to save to."""
    kind = click.Path(dir_okay=False, writable=True)
    return click.option("-o", "--output", metavar="FILE", type=kind, help=f"Save the {what} as JSON.")


def give(record: Any, as_json: bool, show: Callable[[], None]) -> None:
    """Hand out a record: as JSON for programs, or on a screen for people."""
    from robustforge.cli import records

    if as_json:
        click.echo(records.to_json(record), nl=False)
    else:
        show()
