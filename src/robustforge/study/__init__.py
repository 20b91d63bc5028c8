"""The paper's study done again: 22 evolutions, their champions assessed, comparators and controls beside them."""

from robustforge.study.reproduce import reproduce

__all__ = ["reproduce"]
