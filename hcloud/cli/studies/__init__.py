"""The verbs that simulate."""
