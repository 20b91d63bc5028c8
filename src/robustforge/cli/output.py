"""Lines on stdout and stderr, how a payload is printed (as JSON or as a view), and how a command ends early."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any, NoReturn

import click

from robustforge.cli.options import INTERRUPTED, WRONG_CALL
from robustforge.errors import escaped


def echo(text: str, err: bool = False) -> None:
    """Print a line; control characters, which names and paths may hold, are escaped."""
    click.echo(escaped(text), err=err)


def print_payload(payload: Any, as_json: bool, show: Callable[[], None]) -> None:
    """Print a payload: as JSON for programs, or as the view that `show` prints."""
    from robustforge.cli.payloads.json_text import to_json

    if as_json:
        click.echo(to_json(payload), nl=False)
    else:
        show()


def fail(ctx: click.Context, message: str, code: int = WRONG_CALL, in_lines: bool = False) -> NoReturn:
    """End the command with an error, in one line unless the message is meant to have several."""
    echo(f"error: {message if in_lines else ' '.join(message.split())}", err=True)
    ctx.exit(code)


def end_interrupted(ctx: click.Context, store: str) -> NoReturn:
    """End a command after Ctrl-C, with a line that explains how to resume it."""
    resume = f"completed runs are stored in {store}; the same command resumes"
    echo(f"interrupted: {resume if os.path.exists(store) else 'no run was completed'}", err=True)
    ctx.exit(INTERRUPTED)
