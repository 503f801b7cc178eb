"""The verb of the published studies."""
