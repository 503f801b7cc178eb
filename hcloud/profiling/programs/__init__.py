"""Programs that run in processes of their own, by path; they import nothing of hcloud."""
