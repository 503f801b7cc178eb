"""One folder a cloud: the code that speaks to its real interfaces."""
