"""A fake AWS account: EC2, its commitments, prices and quotas on the ledger; everything else is moto's."""
