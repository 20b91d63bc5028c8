"""Commands whose help lists the options under headings, and that still accept options under their former names.

Only click and the standard library are imported here, so that `--help` answers before Numba is loaded.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import click

F = TypeVar("F", bound=Callable[..., Any])

_logger = logging.getLogger(__name__)


class GroupedOption(click.Option):
    """An option under a heading of the help.

    Args:
        *arguments: As for `click.Option`.
        heading: The heading.
        former: A name that the option had before; it is accepted with a note, and not in the help.
        **attributes: As for `click.Option`.
    """

    def __init__(
        self, *arguments: Any, heading: str | None = None, former: str | None = None, **attributes: Any
    ) -> None:
        super().__init__(*arguments, **attributes)
        self.heading, self.former = heading, former

    def get_help_extra(self, ctx: click.Context) -> Any:
        """Return what follows the help in brackets: the default, without the range of numbers."""
        extra: Any = super().get_help_extra(ctx)
        if isinstance(self.show_default, str):
            extra["default"] = self.show_default
        extra.pop("range", None)
        return extra


class GroupedCommand(click.Command):
    """A command whose help lists its options under headings, in the order of their first options."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments; an option under its former name is accepted with a note on stderr."""
        present = {option.former: option.opts[0] for option in self.params if isinstance(option, GroupedOption)}
        args = list(args)
        end = args.index("--") if "--" in args else len(args)
        used: dict[str, str] = {}
        for number, word in enumerate(args[:end]):
            flag, equals, value = word.partition("=")
            if flag in present:
                used[flag] = present[flag]
                args[number] = f"{present[flag]}{equals}{value}"
        rest = super().parse_args(ctx, args)
        for flag, name in used.items():
            _logger.warning("note: %s was renamed to %s", flag, name)
        return rest

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options under their headings, aligned; those without one come last."""
        sections: dict[str | None, list[tuple[str, str]]] = {}
        for option in (each for each in self.get_params(ctx) if isinstance(each, click.Option)):
            record = option.get_help_record(ctx)
            if record is not None:
                sections.setdefault(getattr(option, "heading", None), []).append(record)
        rest = sections.pop(None, [])
        write_sections(formatter, {**sections, "Other options" if sections else "Options": rest})


def write_sections(formatter: click.HelpFormatter, sections: Mapping[Any, Sequence[tuple[str, str]]]) -> None:
    """Write lists of terms and their meanings, each under a heading, with the meanings aligned."""
    width = max((len(term) for rows in sections.values() for term, _ in rows), default=0)
    for heading, rows in sections.items():
        if rows:
            with formatter.section(heading):
                formatter.write_dl([(f"{term:<{width}}", meaning) for term, meaning in rows])


class RenamedChoice(click.Choice):  # type: ignore[type-arg]  # it is generic since click 8.2
    """One of several words, some of which had other names before.

    Args:
        words: The words.
        former: The present word for each former one, which is accepted with a note.
    """

    def __init__(self, words: Sequence[str], former: dict[str, str]) -> None:
        super().__init__(words)
        self._former = former

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Return the present word."""
        if value in self._former:
            flag = param.opts[0] if param else ""
            _logger.warning("note: %s %s was renamed to %s %s", flag, value, flag, self._former[value])
            value = self._former[value]
        return super().convert(value, param, ctx)


def command(
    *examples: str, cls: type[GroupedCommand] = GroupedCommand, **attributes: Any
) -> Callable[[Callable[..., Any]], GroupedCommand]:
    """Return a decorator that makes a command of a function.

    Args:
        *examples: Calls, which the help ends with.
        cls: The class of the command.
        **attributes: As for `click.command`.
    """
    return click.command(cls=cls, epilog=examples_text(*examples), **attributes)


def examples_text(*lines: str) -> str:
    """Return the end of a help text: example calls, one per line."""
    return "\n".join(["\b", "Example:" if len(lines) == 1 else "Examples:", *(f"  {line}" for line in lines)])


def heading(title: str) -> Callable[..., Callable[[F], F]]:
    """Return a decorator like `click.option`, whose options are listed under a heading."""

    def option(*flags: str, **attributes: Any) -> Callable[[F], F]:
        return click.option(*flags, cls=GroupedOption, heading=title, **attributes)

    return option


def together(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return one decorator that adds several options, in this order."""

    def add(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return add
