"""One module a format of workload files."""
