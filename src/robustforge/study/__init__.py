"""The paper's study: 22 evolutions, the assessment of their champions, comparators and controls."""

from robustforge.study.api import reproduce

__all__ = ["reproduce"]
