"""The verbs that measure and predict."""
