"""A server for a job: which were looked at, which was taken, and what is rented where none was."""
