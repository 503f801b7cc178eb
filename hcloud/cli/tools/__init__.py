"""The verbs that begin, check and rehearse."""
