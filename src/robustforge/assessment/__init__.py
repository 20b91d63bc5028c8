"""How good heuristics and other optimisers are: many runs, what their designs are worth, and tests between them."""

from robustforge.assessment.comparison import Comparison
from robustforge.assessment.entry import Assessment, assess, compare

__all__ = ["Assessment", "Comparison", "assess", "compare"]
