"""Which strategy operates a plan: the points worth simulating, and the choice among simulated ones."""
