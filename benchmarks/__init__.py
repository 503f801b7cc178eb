"""Benchmarks: each prints its figures beside those of a peer and the physical limit, from one run."""
