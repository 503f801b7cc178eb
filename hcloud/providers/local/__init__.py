"""This machine as a cloud: machines are groups of its processes."""
