"""Analysis of evolutions and assessments, read from a store or a results folder, as tables."""

from robustforge.analysis.api import Analysis, analyse
from robustforge.analysis.dataset import Dataset, EvolutionRecord, EvolvedHeuristic, pooled
from robustforge.analysis.loader import read_dataset

__all__ = ["Analysis", "Dataset", "EvolutionRecord", "EvolvedHeuristic", "analyse", "pooled", "read_dataset"]
