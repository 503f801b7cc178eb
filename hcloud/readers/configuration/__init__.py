"""hcloud.yaml as settings."""
