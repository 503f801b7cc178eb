"""Prices on a screen and as documents."""
