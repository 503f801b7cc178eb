"""Collaborative filtering: what an application would do where it was not measured, or which measurement is missing."""
