"""The verb that buys."""
