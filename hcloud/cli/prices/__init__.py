"""The verb about prices."""
