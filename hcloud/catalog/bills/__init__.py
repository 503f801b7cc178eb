"""Bills: what usage and commitments are charged, day by day."""
