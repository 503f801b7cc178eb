"""The verbs that look at a cloud or change it."""
