"""Use cases of idle capacity: types, replicas, plans."""
