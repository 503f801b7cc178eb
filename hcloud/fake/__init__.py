"""Fake clouds: stateful HTTP endpoints on this machine that the real SDK clients talk to, with a ledger that judges."""
