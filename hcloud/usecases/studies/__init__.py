"""Studies: strategies simulated, compared and swept over one workload."""
