"""What every cloud has to keep: one suite that runs unchanged against each provider."""
