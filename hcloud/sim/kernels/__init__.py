"""The event engine: kernels over tables, as plain Python and compiled."""
