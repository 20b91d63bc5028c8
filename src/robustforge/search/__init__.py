"""Searches for a robust design of a user's own model, in a store that survives whatever happens."""

from robustforge.search.answer import Answer, answer_of
from robustforge.search.attack import Attack, Verified
from robustforge.search.search import Search, Told, heuristic_of
from robustforge.search.verdict import Verdict, verdict

__all__ = ["Answer", "Attack", "Search", "Told", "Verdict", "Verified", "answer_of", "heuristic_of", "verdict"]
