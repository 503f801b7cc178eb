"""What will be asked for: jobs as demand over time, the part of a trace that counts, and the horizon ahead."""
