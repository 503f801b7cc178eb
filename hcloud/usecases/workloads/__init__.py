"""Workloads: where they come from, summed up, checked and converted."""
