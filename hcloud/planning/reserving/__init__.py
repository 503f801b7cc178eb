"""How much to commit to for a known demand: the exact solvers and their kernels."""
