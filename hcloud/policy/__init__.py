"""One decision a file: pure functions of numbers that the simulator and the live controller both call."""
