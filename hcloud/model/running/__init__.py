"""What runs as values: events and decisions, the strategy that decides, and the cloud that it decides for."""
