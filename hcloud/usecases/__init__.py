"""One file a verb: wires the parts together and prints nothing."""
