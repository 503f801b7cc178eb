"""Applications as values: how they are measured, and what was measured and predicted of them."""
