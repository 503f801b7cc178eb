"""For readers of the documentation and for us: the published studies, run again."""
