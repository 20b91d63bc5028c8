"""How bad a design really is: the worst of many samples in its uncertainty set, and an attack on it."""

from robustforge.verification.verify import Verification, WorstCase, verify

__all__ = ["Verification", "WorstCase", "verify"]
