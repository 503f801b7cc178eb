"""The event engine: kernels over tables, plain Python as they stand."""
