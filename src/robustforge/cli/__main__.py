"""Lets `python -m robustforge.cli` be the command line."""

from robustforge.cli import main

main()
