"""Files that tell how much machines used over time."""
