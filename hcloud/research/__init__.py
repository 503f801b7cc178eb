"""For readers of the documentation and for us: published studies, held-out accuracy and the lower bound."""
