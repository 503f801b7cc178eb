"""The mix: what a plan may choose from, and the cheapest fleet of it for a forecast."""
