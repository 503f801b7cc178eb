"""The verb about workloads."""
