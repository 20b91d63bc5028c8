"""Who takes part in an assessment: heuristics, controls that anything should beat, and other people's optimisers."""

from robustforge.contestants.contestant import AskTell, Contestant, Finish, Search
from robustforge.contestants.names import as_contestant, contestant_names

__all__ = ["AskTell", "Contestant", "Finish", "Search", "as_contestant", "contestant_names"]
