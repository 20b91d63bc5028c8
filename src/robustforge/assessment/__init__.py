"""How good heuristics and other optimisers are: many runs, what their designs are worth, and tests between them."""
