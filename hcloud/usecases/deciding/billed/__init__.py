"""Plans of bills: what is planned from, the plan of each kind of machine, and all kinds together."""
