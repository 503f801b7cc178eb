"""The reserve and shared machines: who is on them, what they press, and orders that make them quick to find."""
