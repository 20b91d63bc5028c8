"""The package version, used by the build, the command line, reports and stores."""

__version__ = "0.2.0"
