"""Runs the command line as `python -m robustforge.cli`."""

from robustforge.cli import main

main()
