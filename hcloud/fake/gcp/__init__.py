"""Compute Engine as far as hcloud speaks to it: REST with JSON, asynchronous operations, and Google's own refusals."""
