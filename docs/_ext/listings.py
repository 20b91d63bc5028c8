"""A Sphinx extension: fills pages with what the package says about itself.

A page holds a line such as `<!-- listing: components -->`; it is replaced, when Sphinx reads the page, by Markdown that
is made from the component classes, the grammar, the test problems, the ready-made heuristics or the commands. So a new
component or option appears in the reference without an edit. `<!-- document: CONTRIBUTING.md -->` is replaced by a
document of the repository.
"""

from __future__ import annotations

import inspect
import json
import os
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import click
from click.testing import CliRunner

import robustforge as rf
from robustforge.cli import main

ROOT = Path(__file__).resolve().parents[2]
PAGES = {
    "CHANGELOG.md": "docs/changelog.md",
    "CONTRIBUTING.md": "docs/contributing.md",
    "SECURITY.md": "docs/security.md",
    "examples/filter/README.md": "docs/filter.md",
}
"""The documents outside of this folder that are pages of the site."""

LISTING = re.compile(r"^<!-- listing: (\w+) -->$", re.MULTILINE)
DOCUMENT = re.compile(r"^<!-- document: (\S+) -->$", re.MULTILINE)
LINK = re.compile(r"\]\((?!\w+:)([^)#]+)")


def setup(app: Any) -> dict[str, Any]:
    """Register the extension."""
    app.connect("source-read", fill)
    app.connect("autodoc-process-docstring", whole_sentences, priority=100)
    return {"parallel_read_safe": True, "parallel_write_safe": True}


def fill(app: Any, name: str, source: list[str]) -> None:
    """Replace the marks of a page by their listings."""
    page = ROOT / "docs" / name
    text = DOCUMENT.sub(lambda found: document(found[1], page.parent), source[0])
    source[0] = LISTING.sub(lambda found: LISTINGS[found[1]](), text)


def document(path: str, folder: Path) -> str:
    """Return a document of the repository, with links that hold in a page in a folder of the site."""

    def moved(found: re.Match[str]) -> str:
        target = os.path.normpath(Path(path).parent / found[1])
        return f"]({os.path.relpath(ROOT / PAGES.get(target, target), folder)}"

    return LINK.sub(moved, (ROOT / path).read_text())


def whole_sentences(app: Any, what: str, name: str, thing: Any, options: Any, lines: list[str]) -> None:
    """Keep Napoleon, which comes next, from taking what precedes a colon in an attribute's docstring for a type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


# --- what heuristics are made of


def components() -> str:
    """Return every slot with its alternatives, and every field with its range."""
    rows = records("components")
    summary = table(("slot", "alternatives"), ((row["slot"], alternatives(row)) for row in rows))
    return "\n\n".join([summary, *map(slot_section, rows)])


def alternatives(slot: dict[str, Any]) -> str:
    """Return the alternatives of a slot, those beyond the paper marked."""
    return ", ".join(
        f"`{part['title']}`{' (extension)' if part['beyond_paper'] else ''}" for part in slot["components"]
    )


def slot_section(slot: dict[str, Any]) -> str:
    """Return what stands in one slot."""
    head = f"## {slot['slot'].capitalize()}\n\n{slot['about']} Key in JSON: `{slot['key']}`."
    return "\n\n".join([head, *map(component_section, slot["components"])])


def component_section(part: dict[str, Any]) -> str:
    """Return one component: what it does, where it comes from, its fields."""
    source = f"*{part['source'].rstrip('.')}{'; an extension' if part['beyond_paper'] else ''}.*"
    head = f"### {part['title']}\n\n{part['summary']} {source}"
    fields = [field for field in part["fields"] if not field["component"]]
    below = [f"`{field['name']}` ({field['type']})" for field in part["fields"] if field["component"]]
    found = [head]
    if fields:
        rows = ((f"`{each['name']}`", values(each), default(each), each["meaning"]) for each in fields)
        found.append(table(("field", "values", "default", "meaning"), rows))
    if below:
        found.append(f"Slots below it: {', '.join(below)}.")
    return "\n\n".join(found)


def values(field: dict[str, Any]) -> str:
    """Return the values that a field may take."""
    if span := field["range"]:
        scale = ", log scale" if span["log"] else ""
        return f"{field['type']}, {span['low']:g} to {span['high']:g}{scale}"
    return " or ".join(f"`{json.dumps(each)}`" for each in field["choices"])


def default(field: dict[str, Any]) -> str:
    """Return the default of a field that came after the paper."""
    return f"`{json.dumps(field['default'])}`" if field["beyond_paper"] else ""


def grammar() -> str:
    """Return the production rules of the grammars, and their constants."""
    return "\n\n".join(map(grammar_section, ("paper", "letter", "extended")))


def grammar_section(name: str) -> str:
    """Return the production rules of a grammar, and its constants."""
    grammar = rf.grammar(name)
    constants = ", ".join(f"`{key}` = `{json.dumps(value)}`" for key, value in grammar.constants.items())
    rules = f"## {name.capitalize()}\n\n```text\n{grammar}\n```"
    return f"{rules}\n\nConstants: {constants}." if constants else rules


# --- what can be named


def heuristics() -> str:
    """Return the ready-made heuristics, with what distinguishes them."""
    slots = ("outer", "inner", "movement", "network")
    rows = (
        (f"`{row['name']}`", *(applicable(row["components"][slot]) for slot in slots), row["interpretation"])
        for row in records("heuristics")
    )
    return table(("name", *slots, "interpretation"), rows)


def applicable(component: str) -> str:
    """Return the component in a slot; nothing where the heuristic has no such slot."""
    return "" if component == "na" else component


def problems() -> str:
    """Return the test problems."""
    head = ("name", "suite", "bounds", "radius", "additive", "about")
    rows = [row for row in records("problems") if row["dimension"] is None]
    return table(
        head,
        (
            (
                f"`{row['name']}`",
                row["suite"],
                f"{row['lower']:g} to {row['upper']:g}",
                f"{row['radius']:g}",
                "yes" if row["additive"] else "no",
                row["about"],
            )
            for row in rows
        ),
    )


def engineering() -> str:
    """Return the engineering problems."""
    head = ("name", "suite", "variables", "set", "traits", "about")
    rows = [row for row in records("problems") if row["dimension"] is not None]
    return table(
        head,
        (
            (
                f"`{row['name']}`",
                "checking" if row["suite"].endswith("held-out") else "training",
                str(row["dimension"]),
                row["set"] if isinstance(row["radius"], list) else f"{row['set']}, {row['radius']:g}",
                ", ".join(row["traits"]) or "smooth",
                row["about"],
            )
            for row in rows
        ),
    )


# --- the command line


def commands() -> str:
    """Return the help of every command."""
    with click.Context(main, info_name="robustforge") as context:
        names = main.list_commands(context)
        found = {name: main.get_command(context, name) for name in names}
        rows = ((f"[`{name}`](#{name})", command.get_short_help_str(200)) for name, command in found.items())
        sections = [command_section(context, name, command) for name, command in found.items()]
        return "\n\n".join([table(("command", "what it does"), rows), *sections])


def command_section(parent: click.Context, name: str, command: click.Command) -> str:
    """Return the help of one command."""
    with click.Context(command, info_name=name, parent=parent) as context:
        usage = f"```text\n{command.get_usage(context).removeprefix('Usage: ')}\n```"
        parts = [f"### {name}", usage, paragraphs(command.help or ""), *option_tables(context, command)]
        return "\n\n".join([*parts, examples(command.epilog or "")])


def option_tables(context: click.Context, command: click.Command) -> list[str]:
    """Return a table of options for each heading of the help."""
    groups: dict[str, list[click.Option]] = {}
    for option in command.params:
        if isinstance(option, click.Option) and not option.hidden:
            groups.setdefault(getattr(option, "heading", None) or "Options", []).append(option)
    return [
        f"**{heading}**\n\n"
        + table(("option", "default", "meaning"), (option_row(context, option) for option in options))
        for heading, options in groups.items()
    ]


def option_row(context: click.Context, option: click.Option) -> tuple[str, str, str]:
    """Return how an option is written, its default and its meaning."""
    metavar = "" if option.is_flag else f" {option.make_metavar(context)}"
    written = f"`{', '.join(option.opts)}{metavar}`"
    shown = option.show_default if isinstance(option.show_default, str) else None
    value = option.get_default(context)
    plain = isinstance(value, (int, float, str)) and not option.is_flag
    return written, shown or (f"`{value}`" if plain else ""), option.help or ""


def paragraphs(text: str) -> str:
    """Return a help text as Markdown."""
    return inspect.cleandoc(text.replace("\b\n", ""))


def examples(epilog: str) -> str:
    """Return the examples at the end of a help text as a block."""
    lines = [line.strip() for line in epilog.splitlines() if line.startswith("  ")]
    return "```sh\n" + "\n".join(lines) + "\n```" if lines else ""


# --- how it is made


def records(command: str) -> Any:
    """Return what a listing command prints for programs."""
    return json.loads(CliRunner().invoke(main, [command, "--json"], catch_exceptions=False).output)


def table(head: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    """Return a Markdown table."""
    head = list(head)
    lines = [head, ["---"] * len(head), *([cell.replace("|", "\\|") for cell in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


LISTINGS = {
    "commands": commands,
    "components": components,
    "grammar": grammar,
    "heuristics": heuristics,
    "problems": problems,
    "engineering": engineering,
}
