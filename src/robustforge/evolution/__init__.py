"""Evolving heuristics from a grammar: operators, fitness, the generation loop."""

from robustforge.evolution.api import evolve
from robustforge.evolution.evolution import Evolution, Generation
from robustforge.evolution.settings import Settings

__all__ = ["Evolution", "Generation", "Settings", "evolve"]
