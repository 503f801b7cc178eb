"""The loop that does live what the policy decides: observe, decide, note, act."""
