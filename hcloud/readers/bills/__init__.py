"""Reads what clouds bill: which machines ran, hour by hour, at which price, covered by which commitment."""
