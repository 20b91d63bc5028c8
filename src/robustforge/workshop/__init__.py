"""Gets runs done: a crew of threads, watched processes or somebody's executor, and a workshop that outlives them."""

from robustforge.workshop.crew import Crew, crew
from robustforge.workshop.workshop import Task, Workshop

__all__ = ["Crew", "Task", "Workshop", "crew"]
