"""A user's own model: what a problem file says, and how a simulator behind a command line or a function is run.

Import from its modules: those that run in processes of their own must not load the others.
"""
