"""The facts of each cloud: one value a cloud, looked up by all layers above."""
