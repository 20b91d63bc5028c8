"""Searches for a robust design of a user's own model, in a store that survives whatever happens."""

from robustforge.search.search import Search

__all__ = ["Search"]
