"""Changing a cloud and losing neither a machine nor a dollar: look, note, ask, note again, remember."""
