"""Lets `python -m robustforge` be the command line."""

from robustforge.cli import main

main()
