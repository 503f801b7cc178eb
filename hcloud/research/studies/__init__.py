"""The studies of the published evaluation: what is run, what the text claims, and how our figures are judged."""
