"""A cloud in memory: the port of a provider without a wire."""
