"""Buying commitments and giving them back; the only place from which a cloud is asked to sell."""
