"""Purchases of commitments: what is still to be bought, what that has to pass, and what became of it."""
