"""A user's own model: the problem file that describes it, and the processes that run a command or a function.

Import from its modules: those that run in their own processes must not load the others.
"""
