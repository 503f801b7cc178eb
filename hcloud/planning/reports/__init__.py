"""What was spent and what jobs got: every report is a sum over charges, every error adds up."""
