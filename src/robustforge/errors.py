"""The mistakes a user can make, as exceptions that compose their own message: the rule, the fact, the fix.

All derive from `RobustforgeError`, itself a `ValueError`, so `except ValueError` catches them as with SciPy.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Sequence
from typing import Any


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
        super().__init__(sentence if sentence.endswith("?") else f"{sentence}.")

    def __reduce__(self) -> Any:  # so that it comes back whole from another process, whatever a subclass takes
        return _again, (type(self), self.rule, self.fact, self.fix, self.__dict__)


def _again(kind: type[RobustforgeError], rule: str, fact: str, fix: str, state: dict[str, Any]) -> RobustforgeError:
    error = kind.__new__(kind)
    RobustforgeError.__init__(error, rule, fact, fix)
    error.__dict__.update(state)
    return error


class ProblemError(RobustforgeError):
    """A box, an uncertainty set, a budget or an argument that makes no problem."""


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
        names = sorted(known)
        close = difflib.get_close_matches(str(name).lower(), names, n=3, cutoff=0.4)
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
        told = [f"line {line}: {sentence}" if line else sentence for line, sentence in mistakes]
        if len(told) == 1:
            return cls(f"{name}, {told[0]}")
        return cls("\n  ".join([f"{name} has {len(told)} mistakes", *told]))


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
