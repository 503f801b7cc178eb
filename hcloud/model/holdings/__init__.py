"""What stands in a cloud as values: machines and commitments, what is remembered, changed and bought."""
