"""The operations of the fake EC2: launches, machines and what they refer to."""
