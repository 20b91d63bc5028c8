"""The group of all commands: it imports a command when it is called, and turns errors into exit codes.

Only click, `errors` and the standard library are imported here, so that `--help` answers before Numba is loaded.
"""

from __future__ import annotations

import errno
from importlib import import_module
from typing import Any

import click

from robustforge.cli import log
from robustforge.cli.grouped_help import write_sections
from robustforge.cli.options import FAILED, INTERRUPTED, WRONG_CALL
from robustforge.cli.output import echo, fail
from robustforge.errors import ModelError, ObjectiveError, ProblemFileError, RobustforgeError, StoreWriteError


class CommandGroup(click.Group):
    """Commands that are imported when they are needed, and whose errors end in one line and an exit code.

    Args:
        sections: The module of each command, by name, under the headings of the help.
        **attributes: As for `click.Group`.
    """

    def __init__(self, *, sections: dict[str, dict[str, str]], **attributes: Any) -> None:
        super().__init__(**attributes)
        self._sections = sections
        self._modules = {name: module for modules in sections.values() for name, module in modules.items()}

    def list_commands(self, ctx: click.Context | None) -> list[str]:
        """Return the names of the commands."""
        return list(self._modules)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command by name; `None` if it does not exist."""
        return self.load(cmd_name) if cmd_name in self._modules else None

    def load(self, name: str) -> click.Command:
        """Return a command, imported from its module."""
        module = import_module(f"robustforge.cli.commands.{self._modules[name]}")
        command: click.Command = getattr(module, f"{name}_command", None) or getattr(module, name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands under their headings."""
        width = formatter.width - max(map(len, self._modules)) - 4
        write_sections(
            formatter,
            {
                heading: [(name, self.load(name).get_short_help_str(width)) for name in modules]
                for heading, modules in self._sections.items()
            },
        )

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; turn the package's errors and Ctrl-C into a line on stderr and an exit code."""
        with log.on_stderr():
            try:
                return super().invoke(ctx)
            except KeyboardInterrupt:
                echo("interrupted: no result yet", err=True)
                ctx.exit(INTERRUPTED)
            except (MemoryError, OverflowError) as error:
                fact = f": {error}" if str(error) else ""
                fail(ctx, f"not enough memory{fact}. Lower the dimension, the budget or the samples.")
            except OSError as error:
                if error.errno == errno.EPIPE:  # click ends quietly, as `| head` expects
                    raise
                fail(ctx, f"a file cannot be read or written: {error}. Choose another file.", FAILED)
            except ValueError as error:
                if not isinstance(error, RobustforgeError):
                    raise
                fail(ctx, str(error), _exit_code(error), isinstance(error, (ModelError, ProblemFileError)))


def _exit_code(error: RobustforgeError) -> int:
    return FAILED if isinstance(error, (ModelError, ObjectiveError, StoreWriteError)) else WRONG_CALL
