"""Live work as a fold of its journal: what stands, what is wanted, what follows from what is seen."""
