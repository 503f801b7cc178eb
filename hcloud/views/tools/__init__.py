"""What the demo shows, and what checks found."""
