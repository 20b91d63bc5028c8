"""The version, in its only place: the build, the command line, reports and stores take it from here."""

__version__ = "0.2.0"
