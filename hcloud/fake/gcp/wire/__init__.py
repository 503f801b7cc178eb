"""How Google is spoken to: its paths, the bodies and filters it takes, and how it says no."""
