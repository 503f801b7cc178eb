"""hcloud: plan, buy and run the right mix of reserved, on-demand and spot capacity."""

__version__ = "0.1.0"
