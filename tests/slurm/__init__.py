"""Slurm: real slurmctld and slurmd on loopback."""
