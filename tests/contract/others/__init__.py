"""Programs and libraries of others against our fakes, and our verbs against another fake."""
