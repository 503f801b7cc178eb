"""What has to change in a cloud: what should stand, what is remembered and what the cloud tells."""
