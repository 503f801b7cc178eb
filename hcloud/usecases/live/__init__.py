"""What looks at a cloud or changes it: decide, apply, destroy, gc, recover, state, status, and probes on machines."""
