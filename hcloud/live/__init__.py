"""Executors and timers that change clouds, one request at a time, with every step noted before it is taken."""
