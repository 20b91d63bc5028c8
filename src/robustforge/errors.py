"""The mistakes a user can make, as exceptions that compose their own message: the rule, the fact, the fix.

All derive from `RobustforgeError`, itself a `ValueError`, so `except ValueError` catches them as with SciPy.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from typing import Any

_UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # control characters, but for tab and newline
    "\u061c\u200e\u200f\u2028-\u202e\u2066-\u206f\ufff9-\ufffb"  # what turns the direction of text, or breaks lines
    "\ud800-\udfff]"  # half a character, which cannot be encoded
)
_LONGEST = 100
"""Characters of a name for which similar ones are looked for: comparing takes time that grows with the square."""
_MISTAKES = 50
"""Mistakes of a file that a message tells."""


def escaped(text: str) -> str:
    """Return text that neither a terminal nor a browser obeys: what would move a cursor or hide letters is spelt out.

    All text from outside (names, what models print, what others have stored) passes through here on its way to a
    terminal or a page.

    Args:
        text: Any text; its tabs and newlines stay.

    Example:
        >>> print(escaped(chr(27) + "[31mred"))
        \\x1b[31mred
    """
    return _UNSAFE.sub(lambda found: found[0].encode("unicode_escape").decode(), text.replace("\r\n", "\n"))


def closest(name: str, known: Iterable[str], count: int = 1, cutoff: float = 0.4) -> list[str]:
    """Return the names most similar to one that is none of them, the best first; case matters least.

    Args:
        name: What was written.
        known: What could have been meant.
        count: How many to return at most.
        cutoff: How similar they must be, from 0 to 1.
    """
    if len(name) > _LONGEST:
        return []
    folded = {each.lower(): each for each in known if len(each) <= _LONGEST}
    return [folded[each] for each in difflib.get_close_matches(name.lower(), folded, count, cutoff)]


class RobustforgeError(ValueError):
    """A call that cannot be carried out, in three sentences: what must hold, what was found, what to do.

    Args:
        rule: What must hold, as a sentence.
        fact: What was found instead.
        fix: What the caller can do about it.
    """

    def __init__(self, rule: str, fact: str = "", fix: str = "") -> None:
        self.rule, self.fact, self.fix = rule, fact, fix
        head = f"{rule}; {fact}" if fact else rule
        sentence = ". ".join(part.rstrip(".") for part in (head, fix) if part)
        super().__init__(escaped(sentence if sentence.endswith("?") else f"{sentence}."))

    def __reduce__(self) -> Any:  # so that it comes back whole from another process, whatever a subclass takes
        return _again, (type(self), self.rule, self.fact, self.fix, self.__dict__)


def _again(kind: type[RobustforgeError], rule: str, fact: str, fix: str, state: dict[str, Any]) -> RobustforgeError:
    error = kind.__new__(kind)
    RobustforgeError.__init__(error, rule, fact, fix)
    error.__dict__.update(state)
    return error


class ProblemError(RobustforgeError):
    """A box, an uncertainty set, a budget or an argument that makes no problem."""


class ArgumentError(RobustforgeError, TypeError):
    """An argument by a name that a function does not have; the message names the right one."""


class HeuristicError(RobustforgeError):
    """A heuristic, or a part of one, that the grammar does not allow."""


class UnknownNameError(RobustforgeError):
    """A name that is in no list; the message names the closest ones.

    Args:
        kind: What the name should have been a name of, for instance "problem".
        name: The name given.
        known: All the names there are.
        listing: The command that lists them.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str], listing: str) -> None:
        close = closest(str(name), sorted(known), 3)
        hint = f"Did you mean {' or '.join(map(repr, close))}? " if close else ""
        super().__init__(
            f"a {kind} must be one that exists",
            f"there is no {name!r}",
            f"{hint}`{listing}` lists what there is",
        )


class EvolutionError(RobustforgeError):
    """Settings that make no evolution."""


class StoreError(RobustforgeError):
    """A file that is no store, or a store that does not fit what is asked of it."""


class StoreWriteError(StoreError):
    """A store that cannot be written to any more, in the middle of the work.

    Attributes:
        result: What was found up to then: an `Evolution`, an `Assessment`, an `OptimizeResult` of a search or what an
            attack came to; `None` if there is nothing.
    """

    result: Any = None


class StoreFullError(StoreWriteError):
    """A store that cannot be written to, for want of room or permission; what it holds is safe."""


class StoreLostError(StoreWriteError):
    """A store that was deleted, replaced or damaged while it was written to.

    Attributes:
        rescued: The file that all of its content was copied to; `None` if that could not be done.
    """

    rescued: str | None = None


class ObjectiveImportError(RobustforgeError):
    """A module and a name behind which there are no problems."""


class AssessmentError(RobustforgeError):
    """Contestants, problems or numbers that make no assessment, or tables that cannot be made of what is there."""


class MissingExtraError(RobustforgeError):
    """A package that is not installed, and that only some commands need.

    Args:
        package: What is missing.
        extra: The optional part of this package that brings it along.
    """

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(
            f"this needs the package {package}", "it is not installed", f"pip install 'robustforge[{extra}]'"
        )


class TellError(RobustforgeError):
    """Values told for ids that were not asked, or were told before."""


class SearchFileError(RobustforgeError):
    """A file that is no saved search, or one that cannot be gone on with."""


class ProblemFileError(RobustforgeError):
    """A problem file that cannot be read, or that makes no problem; the message has the lines."""

    @classmethod
    def of_mistakes(cls, name: str, mistakes: Sequence[tuple[int, str]]) -> ProblemFileError:
        """Return the error that tells several mistakes of a file, each with its line (0 for none)."""
        told = [f"line {line}: {sentence}" if line else sentence for line, sentence in mistakes[:_MISTAKES]]
        if len(told) == 1:
            return cls(f"{name}, {told[0]}")
        more = [f"and {len(mistakes) - _MISTAKES} more"] if len(mistakes) > _MISTAKES else []
        return cls("\n  ".join([f"{name} has {len(mistakes)} mistakes", *told, *more]))


class ModelError(RobustforgeError):
    """A model that fails wherever it is run, so that there is nothing to search."""


class ExecutionError(RobustforgeError):
    """A task that cannot travel to another process, or a pool or cluster that cannot be had."""


class ObjectiveError(RobustforgeError):
    """An objective that returned something that is no value.

    Attributes:
        x: The point at which it happened.
        result: What was found up to then, an `OptimizeResult`; `None` where no search was running.
    """

    x: Any = None
    result: Any = None
