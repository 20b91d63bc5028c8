"""One module per command, or per group of related commands, named as typed.

Each imports what it needs when it is called, so that `--help` answers before Numba is loaded.
"""
