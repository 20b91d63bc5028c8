"""The documents that come with the package: packaged in the wheel, or read from docs/ in a source tree."""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path

import click
from rich.markdown import Markdown

from robustforge.cli.output import echo
from robustforge.cli.terminal import Screen, Text, columns, show
from robustforge.errors import UnknownNameError

_PACKAGE = Path(__file__).resolve().parent.parent
_FOLDERS = (_PACKAGE / "documents", _PACKAGE.parent.parent / "docs")
"""Where a wheel has them, and where a source tree (or an editable install) has them."""

_PAGES = ("tutorials/*.md", "howto/*.md", "explanation/*.md", "reference/problem-file.md", "reference/glossary.md")
"""The pages that can be printed; what is generated for the site has commands of its own."""

_FORMER = {"models": "problem-file", "experiments": "comparing"}
"""Topics of version 0.2.0, and what they are called now."""


@cache
def documents() -> dict[str, Path]:
    """Return the documents by topic."""
    folder = next((folder for folder in _FOLDERS if folder.is_dir()), _FOLDERS[0])
    pages = (path for pattern in _PAGES for path in sorted(folder.glob(pattern)))
    return {path.stem: path for path in pages if path.stem != "index"}


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
    topic = _FORMER.get(topic, topic)
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
        echo(text.rstrip("\n"))
        return
    console = Screen()
    with console.capture() as capture:
        console.print(Markdown(text))
    click.echo_via_pager(capture.get(), color=True)


def _text(path: Path) -> str:
    return path.read_text(encoding="utf-8")
