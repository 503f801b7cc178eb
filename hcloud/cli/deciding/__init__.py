"""The verbs that make, explain, show, compare and check plans."""
