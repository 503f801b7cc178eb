"""The order in which events of one time are handled, in simulation and in life."""

(
    FINISH,
    READY,
    FAILED_LAUNCH,
    INTERRUPT,
    LOSS,
    CANCEL,
    REPLACE,
    EXPIRE,
    LOOK,
    CHECK,
    CONTROL,
    SAMPLE,
    ARRIVAL,
    PASSED,
) = range(14)
"""A job ends, an instance has started, a launch came to nothing, spot capacity is taken back, an instance is lost, a
job is cancelled, a reserved server is replaced, a retention ends, neighbours are looked at anew, a suffering job is
looked after, a control period passes, the record is sampled, a job arrives, the clock alone moves."""
