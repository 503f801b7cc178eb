"""Microsoft Azure: what hcloud asks of its public endpoints."""
