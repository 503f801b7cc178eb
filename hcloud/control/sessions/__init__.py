"""A controller between events: what it is told, what it answers, and what of it is kept."""
