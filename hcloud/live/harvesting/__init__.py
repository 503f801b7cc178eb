"""Batch on the idle capacity of reserved machines of live work."""
