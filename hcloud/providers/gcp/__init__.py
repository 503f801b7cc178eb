"""Google Cloud: what hcloud asks of its public endpoints."""
