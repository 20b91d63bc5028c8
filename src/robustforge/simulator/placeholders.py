"""Placeholders in arguments and templates: `{R1}`, `{R1:.6e}`, `{dir}`, `{here}`; parsed here, not by `str.format`."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

FOLDERS = ("dir", "here")
"""The placeholders for folders: the run's own, and that of the problem file."""

_ARGUMENT_PATTERN = re.compile(r"(?P<doubled>\{\{|\}\})|\{(?P<name>[^{}:]*)(?::(?P<spec>[^{}]*))?\}|[{}]")
_TEMPLATE_PATTERN = re.compile(r"\{(?P<name>[^{}\s:]+)(?::(?P<spec>[^{}\s]*))?\}")
_HUGE_WIDTH = re.compile(r"\d{4}")


@dataclass(frozen=True)
class Placeholder:
    """A placeholder, known or unknown.

    Attributes:
        text: The placeholder as written.
        name: The name in it; empty for a lone brace.
        spec: The format of a number, as for Python's `format`; empty for the shortest exact form.
    """

    text: str
    name: str
    spec: str = ""

    def fill(self, substitutions: Mapping[str, float | str]) -> str:
        """Return the substitution for the placeholder; the placeholder itself if there is none.

        Args:
            substitutions: Values by name.

        Raises:
            ValueError: `spec` is not a valid format.
        """
        value = substitutions.get(self.name)
        if value is None or isinstance(value, str):
            return self.text if value is None else value
        return format(float(value), self.spec) if self.spec else repr(float(value))


ParsedText = tuple[str | Placeholder, ...]
"""A string split into literal parts and placeholders."""


def parse_argument(text: str) -> ParsedText:
    """Parse an argument, in which `{{` and `}}` are braces and a lone brace is an unknown placeholder.

    Args:
        text: The argument.

    Example:
        >>> fill(parse_argument("--r={R1:.1e}{{ohm}}"), {"R1": 50.0})
        '--r=5.0e+01{ohm}'
    """
    return tuple(_parse(_ARGUMENT_PATTERN, text))


def parse_template(text: str) -> ParsedText:
    """Parse a template file, in which placeholders contain no blanks and all other braces are literal.

    Args:
        text: The content of the file.

    Example:
        >>> fill(parse_template("R1 a b {R1} {{tc=1}"), {"R1": 50.0})
        'R1 a b 50.0 {{tc=1}'
    """
    return tuple(_parse(_TEMPLATE_PATTERN, text))


def fill(text: ParsedText, substitutions: Mapping[str, float | str]) -> str:
    """Return a parsed string with its placeholders filled.

    Args:
        text: From `parse_argument` or `parse_template`.
        substitutions: Values by name; placeholders without one stay as written.
    """
    return "".join(part if isinstance(part, str) else part.fill(substitutions) for part in text)


def placeholders_in(text: ParsedText) -> Iterator[Placeholder]:
    """Yield the placeholders of a parsed string.

    Args:
        text: From `parse_argument` or `parse_template`.
    """
    return (part for part in text if isinstance(part, Placeholder))


def names_in(texts: Iterable[ParsedText]) -> set[str]:
    """Return the names of all placeholders of several parsed strings.

    Args:
        texts: From `parse_argument` or `parse_template`.
    """
    return {placeholder.name for text in texts for placeholder in placeholders_in(text)}


def is_float_format(spec: str) -> bool:
    """Whether a format applies to a float, with a width of at most three digits.

    Args:
        spec: As for Python's `format`.

    Example:
        >>> is_float_format(".6e"), is_float_format("d")
        (True, False)
    """
    if _HUGE_WIDTH.search(spec):
        return False
    try:
        format(1.0, spec)
    except ValueError:
        return False
    return True


def _parse(pattern: re.Pattern[str], text: str) -> Iterator[str | Placeholder]:
    end = 0
    for match in pattern.finditer(text):
        if end < match.start():
            yield text[end : match.start()]
        end = match.end()
        found = match.groupdict()
        if found.get("doubled"):
            yield match[0][0]
        else:
            yield Placeholder(match[0], found["name"] or "", found["spec"] or "")
    if end < len(text):
        yield text[end:]
