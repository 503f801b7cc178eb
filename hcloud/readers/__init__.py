"""Workload, price and configuration formats turned into validated model values."""
