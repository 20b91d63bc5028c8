"""What evolutions and assessments have shown: read from a store or a folder of results, and turned into tables."""

from robustforge.analysis.entry import Analysis, analyse
from robustforge.analysis.evidence import Bred, Evidence, Outcome, pooled
from robustforge.analysis.sources import read_evidence

__all__ = ["Analysis", "Bred", "Evidence", "Outcome", "analyse", "pooled", "read_evidence"]
