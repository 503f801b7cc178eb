"""What stands and what changes in a cloud, line by line."""
