"""Price formats turned into price books: good rows as offers, the others quarantined with their address."""
