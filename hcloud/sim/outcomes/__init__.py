"""What runs mean: measured, compared over seeds and priced otherwise."""
