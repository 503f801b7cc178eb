"""Plans: made, explained, compared and held to rules."""
