"""The features of a heuristic: which alternative of each component it has, in the words of the paper (Section 5.3)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from robustforge.analysis.dataset import EvolutionRecord
from robustforge.components import InnerForm, Movement, Mutation, Network, Relocation, Swarm
from robustforge.components.velocity import Baseline
from robustforge.errors import UnknownNameError
from robustforge.representation import Heuristic
from robustforge.representation.grammar import kinds

_SLOTS = {kind.key: kind for kind in kinds() if kind.is_slot}

_PAPER = {
    "inner": InnerForm.label,
    "extent": "Extent of inner search",
    "baseline": Baseline.label,
    "movement": Movement.label,
    "network": Network.label,
    "group": "Group (swarm) size",
    "stopping": "Inclusion of stopping condition",
    "n_dorm": "Use of existing info. for dormancy",
    "n_pbest": "Use of existing info. for personal best",
    "mutation": Mutation.label,
    "relocation": Relocation.label,
    "r3": "Form of r3 vector",
}
"""The paper's components, in its order and words."""

_EXTENSIONS = {key: slot.label for key, slot in _SLOTS.items() if key not in _PAPER}

BEYOND_PAPER = (*_EXTENSIONS, "order")
"""Components that the paper does not have; they are shown only if they vary."""

COMPONENTS: Mapping[str, str] = {**_PAPER, **_EXTENSIONS, "order": "Order of particle updates"}
"""Titles of the components by key: the paper's first, then the slots beyond it.

The keys are persistent: files of results and tables as CSV have them.
"""

NOT_APPLICABLE = "Not applicable"

Rows = list[dict[str, str]]
"""The features of the heuristics of an evolution, best first."""

_SIZE_CLASSES = {10: "[2-10]", 20: "[11-20]", 30: "[21-30]", 40: "[31-40]"}
"""Upper limits of the paper's classes of swarm sizes and inner budgets."""

_SIZES = (*_SIZE_CLASSES.values(), ">40")
_NOT_APPLICABLE = {"na": NOT_APPLICABLE}
_YES_NO = {"No": "No", "Yes": "Yes"}
_ALTERNATIVES: Mapping[str, Mapping[str, str]] = {
    "inner": {"Random sampling": "Random", "In PSO": "PSO", "In GA": "GA"},
    "baseline": {"Constriction": "Constriction", "Inertia": "Inertia"},
    "movement": {"{}": "rPSO", "DD": "+DD", "LEH": "+LEH", "DD+LEH": "+DD+LEH"},
    "network": {
        "Global": "Global",
        "Focal": "Focal",
        "Ring": "Ring (size=2)",
        "2D von Neumann": "von Neumann",
        "Clan": "Clan",
        "Cluster": "Cluster",
        "Hierarchical": "Hierarchy",
    },
    "stopping": _YES_NO,
    "n_dorm": _YES_NO | _NOT_APPLICABLE,
    "n_pbest": _YES_NO,
    "mutation": {"None": "None", "Uniform": "Random", "Gaussian": "Gaussian"},
    "relocation": {"LEH relocation": "LEH", "Random relocation": "Random"} | _NOT_APPLICABLE,
    "r3": {"random": "Random", "unity": "Unity"} | _NOT_APPLICABLE,
    "order": {"synchronous": "Synchronous", "asynchronous": "Asynchronous"} | _NOT_APPLICABLE,
    **{
        key: {component.title: component.title for component in _SLOTS[key].alternatives()} | _NOT_APPLICABLE
        for key in _EXTENSIONS
    },
}
"""The paper's word for each alternative by its title, in the paper's order."""


def features(heuristic: Heuristic, budget: int) -> dict[str, str]:
    """Return which alternative of each component a heuristic has, in the words of the paper.

    Args:
        heuristic: The heuristic.
        budget: Evaluations per run, on which the budget of an inner search depends.

    Returns:
        The alternative for each key of `COMPONENTS`; its title if the paper does not have it.

    Example:
        >>> import robustforge as rf
        >>> features(rf.heuristic("paper/30d/general"), 2000)["network"]
        'Ring (size=2)'
    """
    titles, sizes = heuristic.components(), feature_sizes(heuristic, budget)
    found = {key: words.get(titles[key], titles[key]) for key, words in _ALTERNATIVES.items()}
    found["extent"] = _size_class(sizes["extent"])
    found["group"] = _size_class(sizes["group"]) if isinstance(heuristic.outer, Swarm) else NOT_APPLICABLE
    return {key: NOT_APPLICABLE if found[key] == "na" else found[key] for key in COMPONENTS}


def feature_sizes(heuristic: Heuristic, budget: int) -> dict[str, int]:
    """Return the two numerical features: the number of agents, and the points of an inner search."""
    return {"group": heuristic.outer.agents, "extent": heuristic.inner_budget(budget)}


def feature_rows(evolution: EvolutionRecord) -> Rows:
    """Return the features of all heuristics of an evolution, best first."""
    return [features(each.heuristic, evolution.budget) for each in evolution.heuristics]


def alternatives(component: str) -> tuple[str, ...]:
    """Return the known alternatives of a component, in the order in which they are shown.

    Raises:
        UnknownNameError: There is no such component.

    Example:
        >>> alternatives("inner")
        ('Random', 'PSO', 'GA')
    """
    if component not in COMPONENTS:
        raise UnknownNameError("component", component, COMPONENTS, "robustforge analyse --help")
    return tuple(_ALTERNATIVES[component].values()) if component in _ALTERNATIVES else _SIZES


def shown_components(rows: Sequence[Mapping[str, str]]) -> list[str]:
    """Return the components to show for these features: the paper's, and those beyond it that vary."""
    shown = (key for key in COMPONENTS if key not in BEYOND_PAPER or len({row[key] for row in rows}) > 1)
    return list(shown) if rows else []


def shown_alternatives(component: str, count: Mapping[str, int]) -> list[str]:
    """Return the alternatives to show: the paper's in its order, then others that occur, "not applicable" last."""
    known = alternatives(component)
    if component in BEYOND_PAPER:
        known = tuple(each for each in known if each in count)
    others = sorted((each for each in count if each not in known), key=lambda each: (each == NOT_APPLICABLE, each))
    return [*known, *others]


def _size_class(size: int) -> str:
    return next((words for limit, words in _SIZE_CLASSES.items() if size <= limit), _SIZES[-1])
