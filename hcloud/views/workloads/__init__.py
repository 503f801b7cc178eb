"""Workloads on a screen and as documents."""
