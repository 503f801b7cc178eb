"""States: what is remembered of a cloud, on any place."""
