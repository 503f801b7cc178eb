"""Records that only grow: intents, rentals and purchases, each line checked and lasting before work goes on."""
