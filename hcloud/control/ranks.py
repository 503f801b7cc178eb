"""The order in which events of one time are handled, in simulation and in life."""

FINISH, READY, INTERRUPT, EXPIRE, LOOK, CHECK, CONTROL, SAMPLE, ARRIVAL, PASSED = range(10)
"""A job ends, an instance has started, spot capacity is taken back, a retention ends, neighbours are looked at anew, a
suffering job is looked after, a control period passes, the record is sampled, a job arrives, the clock alone moves."""
