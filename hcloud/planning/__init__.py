"""Forecast, how much to commit, and the differences to act on."""
