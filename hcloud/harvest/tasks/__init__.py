"""Batch jobs as graphs of tasks, and what became of them on idle capacity."""
