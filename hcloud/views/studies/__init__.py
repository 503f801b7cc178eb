"""Simulated strategies: screens, documents, pictures and pages."""
