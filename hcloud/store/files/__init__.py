"""Safe files: whole or not at all, private, locked, growing, and read defensively."""
