"""The contestants of an assessment: heuristics, controls, and adapters for other optimisers."""

from robustforge.contestants.contestant import AskTell, Contestant, Search, SearchResult
from robustforge.contestants.lookup import as_contestant, contestant_names

__all__ = ["AskTell", "Contestant", "Search", "SearchResult", "as_contestant", "contestant_names"]
