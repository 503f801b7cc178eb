"""Harvested jobs on servers whose services follow their history, tick by tick."""
