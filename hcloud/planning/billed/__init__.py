"""Bills as demand: kinds of machines, what is held for each, and what a plan of each adds up to."""
