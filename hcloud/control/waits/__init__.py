"""Who waits for the reserve, in one queue or in several by the quality that jobs need, and how long that takes."""
