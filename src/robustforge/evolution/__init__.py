"""Breeding heuristics by the grammar: operators, fitness, the generation loop."""

from robustforge.evolution.entry import evolve
from robustforge.evolution.evolution import Evolution, Generation
from robustforge.evolution.settings import Settings

__all__ = ["Evolution", "Generation", "Settings", "evolve"]
