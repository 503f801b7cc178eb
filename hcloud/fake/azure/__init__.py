"""A fake Azure: what azure-mgmt-compute, -network and -reservations speak, over the shared ledger and clock."""
