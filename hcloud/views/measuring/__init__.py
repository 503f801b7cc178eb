"""Profiles and estimates on a screen and as documents."""
