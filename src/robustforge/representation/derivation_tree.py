"""Heuristics as derivation trees: a node is reached by the names of the fields that lead to it.

A tree is immutable: `replaced` returns another one, which shares every branch that did not change. Every way of
changing a heuristic, by variation or tuning, goes through here, and what comes out is checked like any heuristic.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, TypeVar

from robustforge.core.component import Component, Field, fields

Path = tuple[str, ...]
C = TypeVar("C", bound=Component)


def branch(tree: Component, path: Path) -> Any:
    """Return the branch below a node: a component, or a value at a leaf.

    Example:
        >>> import robustforge as rf
        >>> branch(rf.heuristic("rpso"), ("outer", "swarm_size"))
        20
    """
    for name in path:
        tree = getattr(tree, name)
    return tree


def replaced(tree: C, path: Path, value: Any) -> C:
    """Return the tree with another branch below a node, and everything else unchanged."""
    if len(path) > 1:
        value = replaced(getattr(tree, path[0]), path[1:], value)
    return tree.replace(**{path[0]: value})


def nodes(tree: Component, above: Path = ()) -> Iterator[tuple[Path, Field, Any]]:
    """Yield every node below the root, from the top down: its path, its field, and its value."""
    for field in fields(type(tree)):
        value = getattr(tree, field.name)
        yield (*above, field.name), field, value
        if isinstance(value, Component):
            yield from nodes(value, (*above, field.name))
