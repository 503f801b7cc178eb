"""Futures and risk: how fleets fare when demand turns out otherwise."""
