"""What ``hcloud explain`` tells of a job, of live work, and of turns in a queue."""
