"""A decision in words: stated as a plan, with reasons, with what turns it round, and beside another plan."""
