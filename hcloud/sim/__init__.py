"""Scenarios and, later, the event engine that runs a plan on them."""
