"""Heuristics as data: derivation trees, their JSON, the grammar that they are derived from, and ready-made ones."""

from robustforge.representation.grammar import Grammar
from robustforge.representation.heuristic import Heuristic

__all__ = ["Grammar", "Heuristic"]
