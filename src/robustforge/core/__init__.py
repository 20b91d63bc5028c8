"""Foundations of the compiled code: the compiler, random streams, components, the state of a run and its history."""
