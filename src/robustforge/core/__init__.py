"""What everything compiled stands on: the compiler, random streams, components, the state of a run and its history."""
