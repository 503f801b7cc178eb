"""Which commitment covers which usage, hour by hour, as each provider settles it."""
