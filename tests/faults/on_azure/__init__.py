"""Azure's own ways to fail, on the fake Azure."""
