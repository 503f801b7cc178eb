"""Workload files as jobs or demand: one module a format, one entry point."""
