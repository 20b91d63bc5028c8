"""A heuristic: an outer and an inner search, the start symbol of the grammar. Compared by value, hashed stably."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

from robustforge.components import AsItIs, Final, Inner, NoTest, Outer, Structure, Swarm
from robustforge.core.component import Component
from robustforge.heuristic import codec

NOT_APPLICABLE = "na"


@dataclass(frozen=True)
class Heuristic(Component):
    """A complete search for robust designs, assembled from components.

    Args:
        outer: Who moves where.
        inner: How the worst case around a candidate is estimated.
        structure: What is looked for first, so that a search that fits better can take over.
        final: Whether the outcome is looked at once more.

    Example:
        >>> import robustforge as rf
        >>> h = rf.heuristic("rpso+dd")
        >>> rf.Heuristic.from_json(h.to_json()) == h
        True
    """

    title: ClassVar[str] = "Start"
    outer: Outer
    inner: Inner
    structure: Structure = NoTest()  # noqa: RUF009 - frozen, and the neutral choice
    final: Final = AsItIs()  # noqa: RUF009

    @property
    def agents(self) -> int:
        """How many candidates can be looked at together at most."""
        other = self.structure.other
        return max(self.outer.agents, self.structure.agents, self.final.agents, other.agents if other else 0)

    @property
    def id(self) -> str:
        """The identity of a heuristic: a hash of its canonical JSON, the same on every machine."""
        canonical = json.dumps(codec.encode(self), sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(canonical.encode()).hexdigest()[:16]

    def __hash__(self) -> int:
        return int(self.id, 16) >> 4  # stable: Python's own hash of a string differs from process to process

    def to_json(self) -> str:
        """Return the heuristic as JSON text."""
        return json.dumps({"format": codec.FORMAT, **codec.encode(self)}, indent=2) + "\n"

    @classmethod
    def from_json(cls, text: str) -> Heuristic:
        """Return the heuristic in a JSON text, checked against the grammar; nothing in it is executed."""
        return codec.parse(cls, text)

    @classmethod
    def from_dict(cls, data: Any) -> Heuristic:
        """Return the heuristic that plain data, as of `to_dict`, describes, checked like JSON."""
        return codec.decode(cls, data, "")

    def save(self, path: str | Path) -> None:
        """Write the heuristic to a JSON file."""
        Path(path).write_text(self.to_json(), encoding="utf-8")

    @classmethod
    def load(cls, path: str | Path) -> Heuristic:
        """Read a heuristic from a JSON file."""
        return codec.load(cls, path)

    def components(self) -> dict[str, str]:
        """Return which alternative stands in each slot, as in the paper's tables; "na" where it has no effect."""
        outer, inner = self.outer, self.inner
        movement = outer.movement
        swarm = outer if isinstance(outer, Swarm) else None
        yes = {True: "Yes", False: "No"}
        return {
            "outer": outer.title,
            "group": str(outer.agents),
            "inner": NOT_APPLICABLE if outer.is_nominal else inner.form.title,
            "movement": movement.title if swarm else NOT_APPLICABLE,
            "network": swarm.network.title if swarm else NOT_APPLICABLE,
            "stopping": yes[inner.stopping] if outer.uses_stopping and not inner.form.is_single else NOT_APPLICABLE,
            "n_dorm": yes[inner.n_dorm] if movement.rescue else NOT_APPLICABLE,
            "n_pbest": yes[inner.n_pbest] if outer.offers_candidates else NOT_APPLICABLE,
            "mutation": swarm.mutation.title if swarm else NOT_APPLICABLE,
            "baseline": swarm.capability.baseline.title if swarm else NOT_APPLICABLE,
            "relocation": movement.rescue.title if movement.rescue else NOT_APPLICABLE,
            "r3": movement.directions.r3 if movement.directions else NOT_APPLICABLE,
            "clamp": swarm.capability.clamp.title if swarm else NOT_APPLICABLE,
            "order": swarm.order if swarm else NOT_APPLICABLE,
            "structure": self.structure.title,
            "restart": part.title if (part := outer.parts.get("restart")) else NOT_APPLICABLE,
            "returned": part.title if (part := outer.parts.get("returned")) else NOT_APPLICABLE,
            "final": self.final.title,
        }

    def describe(self, budget: int = 2000) -> str:
        """Return the heuristic in plain words, with the numbers that follow from a budget."""
        lines = [*_outer_words(self.outer), *_inner_words(self, budget)]
        if self.structure.agents:
            lines.insert(0, self.structure.words())
        if self.final.agents:
            lines.append(self.final.words())
        return "\n".join(f"- {line}" for line in lines)

    def __str__(self) -> str:
        return self.describe()

    def to_dict(self) -> dict[str, Any]:
        """Return the heuristic as plain data."""
        return codec.encode(self)


def _outer_words(outer: Outer) -> list[str]:
    if not isinstance(outer, Swarm):
        return [outer.words(), *(part.words() for part in outer.parts.values() if part)]
    movement = outer.movement
    turns = ", one after the other" if outer.order == "in turn" else ""
    lines = [
        f"{outer.group} particles{turns}; {outer.network.words()}",
        outer.capability.baseline.words(),
    ]
    if movement.directions:
        lines.append(movement.directions.words())
    if movement.rescue:
        lines.append(movement.rescue.words())
    lines.append(outer.mutation.words())
    if type(outer.capability.clamp).extension:
        lines.append(outer.capability.clamp.words())
    return lines


def _inner_words(heuristic: Heuristic, budget: int) -> list[str]:
    inner, outer = heuristic.inner, heuristic.outer
    if outer.is_nominal:
        return []
    if inner.form.is_single:
        return [f"a candidate is worth one evaluation: {inner.form.words()}"]
    points = inner.points(budget, outer.agents)
    lines = [f"worst case of a candidate by {points} evaluations: {inner.form.words()} (for a budget of {budget})"]
    if inner.stopping and outer.uses_stopping:
        lines.append(f"a search ends at the first point above {outer.stops_above}")
    if inner.n_pbest and outer.offers_candidates:
        lines.append("its value is raised to the worst evaluated point nearby")
    if inner.n_dorm and heuristic.outer.movement.rescue:
        lines.append("no search where the history already shows a worse point nearby; such an iteration is idle")
    return lines
