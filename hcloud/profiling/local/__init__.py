"""This machine as machines of its own: keepers that run jobs, start-up scripts, and what attempts use."""
