"""Whether running jobs keep what was promised them: measured, learnt from, and kept by more or less of a machine."""
