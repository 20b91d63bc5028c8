"""Errors of a call, a file or a model, as exceptions that compose their message: the rule, the fact, the fix.

All derive from `RobustforgeError`, itself a `ValueError`, so `except ValueError` catches them as with SciPy.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but for tab and newline
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"  # bidirectional controls and line separators
    "\ud800-\udfff]"  # lone surrogates, which cannot be encoded
)
_MAX_COMPARED_LENGTH = 100
"""Characters of a name that is compared with others: the time of a comparison grows with the square of its length."""
_MIN_SIMILARITY = 0.6
"""Similarity, from 0 to 1, below which a known name is not suggested for an unknown one."""
_MAX_ERRORS_SHOWN = 50
"""Validation errors of a file that a message lists."""


def escaped(text: str) -> str:
    """Return a string with control characters escaped, so that it is safe to print on a terminal or a page.

    All strings from outside (names, output of models, content of stores) pass through here before they are shown.

    Args:
        text: Any string; its tabs and newlines are kept.

    Example:
        >>> print(escaped(chr(27) + "[31mred"))
        \\x1b[31mred
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def closest(name: str, known: Iterable[str], count: int = 1) -> list[str]:
    """Return the known names that an unknown one may be a misspelling of, the most similar first; case is ignored.

    Args:
        name: The unknown name.
        known: The known names.
        count: Maximum number of names to return.

    Example:
        >>> closest("spere", ["sawtooth", "sphere"]), closest("nothing", ["sawtooth", "sphere"])
        (['sphere'], [])
    """
    if len(name) > _MAX_COMPARED_LENGTH:
        return []
    folded = {each.lower(): each for each in known if len(each) <= _MAX_COMPARED_LENGTH}
    return [folded[each] for each in difflib.get_close_matches(name.lower(), folded, count, _MIN_SIMILARITY)]


class RobustforgeError(ValueError):
    """Base class of the package's errors; the message is "rule; fact. Fix."

    Args:
        rule: The condition that is violated; or the fact itself, where that is what the caller needs first.
        fact: What was found instead.
        fix: What the caller can do.
    """

    def __init__(self, rule: str, fact: str = "", fix: str = "") -> None:
        self.rule, self.fact, self.fix = rule, fact, fix
        head = f"{rule}; {fact}" if fact else rule
        super().__init__(escaped(" ".join(_as_sentence(part) for part in (head, fix) if part)))

    def __reduce__(self) -> Any:  # subclasses take other arguments; unpickling must not call their constructors
        return _rebuild, (type(self), self.rule, self.fact, self.fix, self.__dict__)


def did_you_mean(close: Sequence[str]) -> str:
    """Return the question that suggests the closest known names; empty if there are none."""
    return f"did you mean {' or '.join(map(repr, close))}?" if close else ""


def _as_sentence(text: str) -> str:
    """Return a string that ends with one punctuation mark."""
    return text if text.endswith("?") else f"{text.rstrip('.')}."


def _rebuild(kind: type[RobustforgeError], rule: str, fact: str, fix: str, state: dict[str, Any]) -> RobustforgeError:
    error = kind.__new__(kind)
    RobustforgeError.__init__(error, rule, fact, fix)
    error.__dict__.update(state)
    return error


class ProblemError(RobustforgeError):
    """Bounds, an uncertainty set, a budget or another argument that is invalid."""


class ArgumentError(RobustforgeError, TypeError):
    """An unknown keyword argument; the message suggests a known one."""


class HeuristicError(RobustforgeError):
    """A heuristic, or a component of one, that the grammar does not allow."""


class UnknownNameError(RobustforgeError):
    """An unknown name; the message suggests the closest known ones.

    Args:
        kind: The kind of thing that is named, for instance "problem".
        name: The unknown name.
        known: All known names.
        listing: The command that lists them.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], listing: str) -> None:
        close = closest(str(name), sorted(known), 3)
        super().__init__(f"unknown {kind} {name!r}", did_you_mean(close), f"`{listing}` lists all")


class EvolutionError(RobustforgeError):
    """Invalid settings of an evolution."""


class StoreError(RobustforgeError):
    """A file that is not a store, a damaged store, or one whose content does not match the call."""


class StoreWriteError(StoreError):
    """A store became unwritable while it was in use.

    Attributes:
        result: The result so far: an `Evolution`, an `Assessment`, a `RobustResult` of a search or an
            `AttackResult`; `None` if there is none.
    """

    result: Any = None


class StoreFullError(StoreWriteError):
    """A store cannot be written, for lack of disk space or permission; its content is intact."""


class StoreLostError(StoreWriteError):
    """A store was deleted, replaced or damaged while it was written.

    Attributes:
        recovery_copy: The file that holds a copy of all its content; `None` if no copy could be written.
    """

    recovery_copy: str | None = None


class ObjectiveImportError(RobustforgeError):
    """`module:name` of an objective that cannot be imported, or is not a problem."""


class AssessmentError(RobustforgeError):
    """Invalid contestants, problems or settings of an assessment, or too few runs for a table."""


class MissingExtraError(RobustforgeError):
    """An optional package is not installed.

    Args:
        package: The missing package.
        extra: The extra of robustforge that installs it.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this needs the package {package}", "it is not installed", f"pip install 'robustforge[{extra}]'"
        )


class TellError(RobustforgeError):
    """A value for an id that `ask` did not return, or that already has another value."""


class SearchFileError(RobustforgeError):
    """A file that is not a saved search, or a saved search that cannot be resumed."""


class ProblemFileError(RobustforgeError):
    """A problem file that cannot be read, or that has validation errors; the message has their lines."""

    @classmethod
    def from_errors(cls, name: str, errors: Sequence[tuple[int, str]]) -> ProblemFileError:
        """Return one exception for all validation errors of a file.

        Args:
            name: The file's name.
            errors: Line (0 if unknown) and message of each error.
        """
        shown = [f"line {line}: {message}" if line else message for line, message in errors[:_MAX_ERRORS_SHOWN]]
        if len(shown) == 1:
            return cls(f"{name}, {shown[0]}")
        more = [f"and {len(errors) - _MAX_ERRORS_SHOWN} more"] if len(errors) > _MAX_ERRORS_SHOWN else []
        return cls("\n  ".join([f"{name} has {len(errors)} errors", *shown, *more]))


class ModelError(RobustforgeError):
    """A model that fails at every design, so that a search is impossible."""


class ExecutionError(RobustforgeError):
    """A task that cannot be pickled, or a process pool or cluster that is not available."""


class ObjectiveError(RobustforgeError):
    """An objective that raised an exception, or did not return a number.

    Attributes:
        x: The point at which it failed.
        result: The result so far, a `RobustResult`; `None` if no search was running.
    """

    x: Any = None
    result: Any = None
