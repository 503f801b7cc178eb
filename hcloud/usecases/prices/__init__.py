"""Prices: looked up, compared, verified and taken in."""
