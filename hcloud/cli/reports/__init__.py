"""The verb that reports."""
