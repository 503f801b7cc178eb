"""Carrying out a plan: every order and every end noted before it is asked for, and believed when the cloud says so."""
