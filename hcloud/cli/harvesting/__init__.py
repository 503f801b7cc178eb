"""Verbs that use idle capacity."""
