"""A heuristic: an outer and an inner search, the start symbol of the grammar. Compared by value, hashed stably."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, ClassVar

from robustforge import notebook_html
from robustforge.components import Final, Inner, NoSelection, NoTest, Outer, Separability, Swarm
from robustforge.components.second_stage import NoSecondStage, SecondStage
from robustforge.core.component import Component, Former, parts, slots_and_parts
from robustforge.core.interpretation import LETTER, Interpretation
from robustforge.representation import heuristic_json

NOT_APPLICABLE = "na"


@dataclass(frozen=True, repr=False)
class Heuristic(Component):
    """A complete search for robust designs, assembled from components.

    Args:
        outer: The outer search: which designs become candidates.
        inner: The inner search: how the worst case of a candidate is estimated.
        separability: The test before the outer search, which may replace it by a coordinate search.
        final: The final selection of the design that is returned.
        second_stage: The search that takes over from the outer search, if any.
        interpretation: How passages of the paper are read that can be read in more than one way.

    Example:
        >>> import robustforge as rf
        >>> h = rf.heuristic("rpso+dd")
        >>> rf.Heuristic.from_json(h.to_json()) == h
        True
    """

    title: ClassVar[str] = "Start"
    outer: Outer
    inner: Inner
    separability: Annotated[Separability, Former("structure")] = NoTest()  # noqa: RUF009 - frozen, the neutral choice
    final: Final = NoSelection()  # noqa: RUF009
    second_stage: SecondStage = NoSecondStage()  # noqa: RUF009
    interpretation: Interpretation = Interpretation()  # noqa: RUF009

    @property
    def agents(self) -> int:
        """Candidates that are processed together, at most."""
        others = (self.separability.replacement, self.second_stage.continuation)
        most = max(self.outer.agents, self.separability.agents, self.final.agents)
        return max(most, *(other.agents for other in others if other), 0)

    @property
    def id(self) -> str:
        """The identity of a heuristic: a hash of version 1 of its JSON, the same on every machine."""
        canonical = json.dumps(heuristic_json.encode_former(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        return int(self.id, 16) >> 4  # stable: Python's own hash of a string differs from process to process

    def to_json(self) -> str:
        """Return the heuristic as JSON text."""
        return json.dumps({"format": heuristic_json.FORMAT, **heuristic_json.encode(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Heuristic:
        """Return the heuristic in a JSON text, checked against the grammar; nothing in it is executed."""
        return heuristic_json.parse(cls, text)

    @classmethod
    def from_dict(cls, data: Any) -> Heuristic:
        """Return the heuristic that plain data, as of `to_dict`, describes, checked like JSON."""
        return heuristic_json.decode(cls, data, "")

    def save(self, path: str | Path) -> None:
        """Write the heuristic to a JSON file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Heuristic:
        """Read a heuristic from a JSON file."""
        return heuristic_json.load(cls, path)

    def inner_budget(self, budget: int) -> int:
        """Return the evaluations of a complete inner search, for a budget of the whole search."""
        return self.inner.points(budget, self.outer.agents, self.interpretation)

    def components(self) -> dict[str, str]:
        """Return which alternative occupies each slot, as in the paper's tables; "na" where it has no effect."""
        outer, inner, movement = self.outer, self.inner, self.outer.movement
        chosen = {field.kind.key: part.title for field, part in parts(self) if field.is_choice}
        slots = {kind.key: chosen.get(kind.key, NOT_APPLICABLE) for kind in slots_and_parts(Heuristic) if kind.is_slot}
        yes = {True: "Yes", False: "No"}
        return slots | {
            "group": str(outer.agents),
            "inner": NOT_APPLICABLE if outer.is_nominal else inner.form.title,
            "stopping": yes[inner.stopping] if outer.uses_stopping and not inner.form.is_single else NOT_APPLICABLE,
            "n_dorm": yes[inner.n_dorm] if movement.relocates else NOT_APPLICABLE,
            "n_pbest": yes[inner.n_pbest] if outer.offers_candidates else NOT_APPLICABLE,
            "r3": movement.directions.r3 if movement.directions else NOT_APPLICABLE,
            "order": outer.update_order if isinstance(outer, Swarm) else NOT_APPLICABLE,
        }

    def describe(self, budget: int = 2000) -> str:
        """Return a description of the heuristic, with the numbers that follow from a budget."""
        lines = [part.describe() for part in (self.outer, *self.outer.described_parts)]
        lines += _describe_inner(self, budget)
        if self.second_stage.continuation:
            lines.append(self.second_stage.describe())
        if self.separability.agents:
            lines.insert(0, self.separability.describe())
        if self.final.agents:
            lines.append(self.final.describe())
        lines += filter(None, [self.describe_interpretation()])
        return "\n".join(f"- {line}" for line in lines)

    def describe_interpretation(self) -> str:
        """Return the interpretation of the paper in words; nothing where it is the default."""
        if self.interpretation.is_default:
            return ""
        whose = "the letter's" if self.interpretation == LETTER else "another"
        return f"in {whose} interpretation of the paper: {self.interpretation.describe()}"

    def __str__(self) -> str:
        return self.describe()

    def __repr__(self) -> str:
        return f"<Heuristic {self.id}: {self.outer.title}>"

    def _repr_html_(self) -> str:
        """Return the heuristic as a notebook shows it: a description, and its pseudocode folded below."""
        from robustforge.representation.pseudocode import pseudocode

        lines = [line.removeprefix("- ") for line in self.describe().splitlines()]
        code = notebook_html.details("Pseudocode", notebook_html.preformatted(pseudocode(self)))
        return notebook_html.fragment(f"Heuristic {self.id}", notebook_html.bullets(lines), code)

    def to_dict(self) -> dict[str, Any]:
        """Return the heuristic as plain data."""
        return heuristic_json.encode(self)


def _describe_inner(heuristic: Heuristic, budget: int) -> list[str]:
    inner, outer = heuristic.inner, heuristic.outer
    if outer.is_nominal:
        return []
    if inner.form.is_single:
        return [f"value of a candidate by one evaluation: {inner.form.describe()}"]
    points = heuristic.inner_budget(budget)
    lines = [f"worst case of a candidate by {points} evaluations: {inner.form.describe()} (for a budget of {budget})"]
    if inner.stopping and outer.uses_stopping:
        lines.append(f"an inner search stops at the first point above {outer.stops_above}")
    if inner.n_pbest and outer.offers_candidates:
        lines.append("the value of a candidate is raised to the worst evaluated point nearby (nPBest)")
    if inner.n_dorm and heuristic.outer.movement.relocates:
        lines.append("no inner search where the history shows a worse point nearby; such an iteration is idle (nDorm)")
    return lines
