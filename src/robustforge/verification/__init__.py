"""The worst case of a design: sampled from its uncertainty set, and attacked with a large or a small budget."""

from robustforge.verification.api import attack, verify
from robustforge.verification.worst_case import Verification, WorstCase

__all__ = ["Verification", "WorstCase", "attack", "verify"]
