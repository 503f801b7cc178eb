"""The published JSON schemas."""
