"""What a run is made of: jobs, a shop, a strategy and a cloud as tables, and what-ifs about them."""
