"""The documents that come with the package: in a wheel inside of it, in a source tree beside it."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import click
from rich.markdown import Markdown

from robustforge.cli.frame import say
from robustforge.cli.layout import Screen, Text, columns, show
from robustforge.errors import UnknownNameError

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "documents", _PACKAGE.parent.parent / "docs")
"""Where a wheel has them, and where a source tree (or an editable install) has them."""


@cache
def documents() -> dict[str, Path]:
    """Return the documents by topic."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), _FOLDERS[0])
    return {path.stem: path for path in sorted(folder.glob("*.md"))}


def titles() -> dict[str, str]:
    """Return what each topic is about: the heading of its document."""
    return {topic: _text(path).partition("\n")[0].lstrip("# ") for topic, path in documents().items()}


def document(topic: str, commands: list[str]) -> str:
    """Return a document, in Markdown.

    Args:
        topic: Its name.
        commands: What else there is help on, for the message if there is no such topic.

    Raises:
        UnknownNameError: There is neither a document nor a command of this name.
    """
    if topic not in documents():
        raise UnknownNameError("topic", topic, [*documents(), *commands], "robustforge help")
    return _text(documents()[topic])


def show_topics() -> None:
    """List the documents for a person."""
    table = columns("topic", "document")
    for topic, heading in titles().items():
        table.add_row(Text(topic, style="bold"), heading)
    after = "`robustforge help TOPIC` shows one; `robustforge help COMMAND` and `robustforge --help` explain commands."
    show(table, "", Text(after, style="dim"))


def show_document(text: str) -> None:
    """Print a document: laid out in a pager on a terminal, as Markdown elsewhere."""
    if not sys.stdout.isatty():
        say(text.rstrip("\n"))
        return
    console = Screen()
    with console.capture() as capture:
        console.print(Markdown(text))
    click.echo_via_pager(capture.get(), color=True)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
