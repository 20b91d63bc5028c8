"""Runs the command line as `python -m robustforge`."""

from robustforge.cli import main

main()
