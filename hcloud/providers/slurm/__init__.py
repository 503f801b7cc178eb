"""Slurm as an engine: it runs the jobs, and hcloud says on which node each begins."""
