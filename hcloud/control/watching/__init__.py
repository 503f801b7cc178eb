"""Jobs that run are watched: phases, and targets that are missed or exceeded."""
