"""What only AWS gets wrong, or has."""
