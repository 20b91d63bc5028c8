"""What to do: heuristics, their JSON, the grammar they are drawn from, and ready-made ones."""

from robustforge.heuristic.grammar import Grammar
from robustforge.heuristic.heuristic import Heuristic
from robustforge.heuristic.presets import heuristic, heuristics
from robustforge.heuristic.restriction import grammar

__all__ = ["Grammar", "Heuristic", "grammar", "heuristic", "heuristics"]
