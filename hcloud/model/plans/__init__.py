"""Plans as values: what is bought and rented, what a plan is compared by, and the rules it has to keep."""
