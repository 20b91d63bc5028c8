"""Placeholders in text: `{R1}`, `{R1:.6e}`, `{dir}`, `{here}`; found by a pattern, never by `str.format`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

FOLDERS = ("dir", "here")
"""The placeholders that stand for folders: the run's own, and that of the problem file."""

_IN_ARGUMENTS = re.compile(r"(?P<twice>\{\{|\}\})|\{(?P<name>[^{}:]*)(?::(?P<spec>[^{}]*))?\}|[{}]")
_IN_TEMPLATES = re.compile(r"\{(?P<name>[^{}\s:]+)(?::(?P<spec>[^{}\s]*))?\}")
_ENORMOUS = re.compile(r"\d{4}")


@dataclass(frozen=True)
class Slot:
    """A placeholder, or what looks like one.

    Attributes:
        text: As it was written.
        name: What it stands for; empty for a lone brace.
        spec: How a number is written, as Python's `format` has it; empty for the shortest exact form.
    """

    text: str
    name: str
    spec: str = ""

    def filled(self, words: Mapping[str, float | str]) -> str:
        """What stands in its place; it stays as it was if nobody knows it.

        Args:
            words: What the placeholders stand for.

        Raises:
            ValueError: If `spec` is none.
        """
        word = words.get(self.name)
        if word is None or isinstance(word, str):
            return self.text if word is None else word
        return format(float(word), self.spec) if self.spec else repr(float(word))


Text = tuple[str | Slot, ...]
"""A text, taken apart."""


def argument(text: str) -> Text:
    """Take an argument apart; there `{{` and `}}` are braces, and a brace that belongs to nothing is a slot, too.

    Args:
        text: The argument.

    Example:
        >>> fill(argument("--r={R1:.1e}{{ohm}}"), {"R1": 50.0})
        '--r=5.0e+01{ohm}'
    """
    return tuple(_apart(_IN_ARGUMENTS, text))


def template(text: str) -> Text:
    """Take a template file apart: there a slot has no blanks, and all braces that belong to no slot are text.

    Args:
        text: What the file holds.

    Example:
        >>> fill(template("R1 a b {R1} {{tc=1}"), {"R1": 50.0})
        'R1 a b 50.0 {{tc=1}'
    """
    return tuple(_apart(_IN_TEMPLATES, text))


def fill(text: Text, words: Mapping[str, float | str]) -> str:
    """Put a text together again.

    Args:
        text: From `argument` or `template`.
        words: What the placeholders stand for; the others stay as they were.
    """
    return "".join(piece if isinstance(piece, str) else piece.filled(words) for piece in text)


def slots(text: Text) -> Iterator[Slot]:
    """The slots of a text.

    Args:
        text: From `argument` or `template`.
    """
    return (piece for piece in text if isinstance(piece, Slot))


def names_in(texts: Iterable[Text]) -> set[str]:
    """What all slots of some texts are called.

    Args:
        texts: From `argument` or `template`.
    """
    return {slot.name for text in texts for slot in slots(text)}


def is_format(spec: str) -> bool:
    """Whether a number can be written so, at a length that makes sense.

    Args:
        spec: As Python's `format` has it.

    Example:
        >>> is_format(".6e"), is_format("d")
        (True, False)
    """
    if _ENORMOUS.search(spec):
        return False
    try:
        format(1.0, spec)
    except ValueError:
        return False
    return True


def _apart(pattern: re.Pattern[str], text: str) -> Iterator[str | Slot]:
    end = 0
    for match in pattern.finditer(text):
        if end < match.start():
            yield text[end : match.start()]
        end = match.end()
        found = match.groupdict()
        if found.get("twice"):
            yield match[0][0]
        else:
            yield Slot(match[0], found["name"] or "", found["spec"] or "")
    if end < len(text):
        yield text[end:]
