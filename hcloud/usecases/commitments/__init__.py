"""Commitments: recommended, planned, bought once, listed and given back."""
