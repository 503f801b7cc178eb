"""Plans on a screen, as documents, pages and pictures; what is different between two; rules kept or not."""
