"""Reports: what was spent, what jobs got, and whether predictions came true."""
