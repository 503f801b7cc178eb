"""Files about applications: how to measure them, and what was measured."""
