"""Amazon Web Services: what hcloud asks of its public endpoints."""
