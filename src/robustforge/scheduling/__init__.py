"""Schedules tasks on a backend (threads, supervised processes or an executor), and survives the death of workers."""

from robustforge.scheduling.backends import Backend, open_backend
from robustforge.scheduling.scheduler import Scheduler, Task

__all__ = ["Backend", "Scheduler", "Task", "open_backend"]
