"""How bad a design really is: the worst of many samples in its uncertainty set, and attacks on it, with many or few."""

from robustforge.verification.few import attack
from robustforge.verification.verify import Verification, WorstCase, verify

__all__ = ["Verification", "WorstCase", "attack", "verify"]
