"""Programs that run in processes of their own; they import nothing of hcloud but what is beside them."""
