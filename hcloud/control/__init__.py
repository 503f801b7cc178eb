"""The controller: events in, decisions out, the same code in simulation and in life."""
