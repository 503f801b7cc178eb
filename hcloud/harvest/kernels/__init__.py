"""Kernels of replicas: plain Python that numba compiles, with the same answers."""
