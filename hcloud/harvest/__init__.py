"""Idle capacity of reserved machines, found in their history: classes of use, replicas, plans."""
