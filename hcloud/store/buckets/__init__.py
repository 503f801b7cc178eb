"""States in buckets: three clouds' stores of objects behind one port, and writing on conditions."""
