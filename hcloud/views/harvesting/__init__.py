"""Idle capacity on a terminal, as documents and as pictures."""
