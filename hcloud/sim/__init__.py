"""Scenarios, and the event engine that runs strategies on them."""
