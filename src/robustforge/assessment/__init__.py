"""Assessment of optimisers: many runs, the worst cases of the returned designs, and significance tests."""

from robustforge.assessment.api import Assessment, assess, compare
from robustforge.assessment.comparison import Comparison

__all__ = ["Assessment", "Comparison", "assess", "compare"]
