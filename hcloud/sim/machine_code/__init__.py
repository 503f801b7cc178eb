"""Kernels of the simulator and the controller as machine code: which, how they are made, and how they are called."""
