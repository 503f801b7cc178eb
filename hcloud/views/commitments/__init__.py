"""Commitments on a screen and as documents."""
