"""What to do: heuristics, their JSON, the grammar they are drawn from, and ready-made ones."""

from robustforge.heuristic.heuristic import Heuristic
from robustforge.heuristic.presets import heuristic, heuristics

__all__ = ["Heuristic", "heuristic", "heuristics"]
