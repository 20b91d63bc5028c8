"""Searches for a robust design of your model, every run of which is stored: `solve`, `verify`, `ask`, `tell`."""

from robustforge.solver.attack_verdict import Verdict, judge_attack, judge_search
from robustforge.solver.search_settings import resolve_file_heuristic
from robustforge.solver.solution import Solution, solution_from_result
from robustforge.solver.stored_attack import AttackResult, StoredAttack
from robustforge.solver.stored_search import Reported, StoredSearch, stored_problem

__all__ = [
    "AttackResult",
    "Reported",
    "Solution",
    "StoredAttack",
    "StoredSearch",
    "Verdict",
    "judge_attack",
    "judge_search",
    "resolve_file_heuristic",
    "solution_from_result",
    "stored_problem",
]
