"""Tools: a demo, a first configuration, checks, clouds to rehearse against, and permissions."""
