"""Why this and why not that, in under ten lines."""
