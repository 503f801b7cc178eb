"""Rules that a plan has to keep, checked one by one."""
