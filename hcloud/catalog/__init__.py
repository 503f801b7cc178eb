"""Offers and quotes: pure look-ups and price arithmetic."""
