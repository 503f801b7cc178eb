"""Frozen values that travel through the layers; standard library only."""
