"""Applications: measured, read from files, and what they need where they were not measured."""
