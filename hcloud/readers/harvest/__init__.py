"""Readers of what harvesting needs: its policy, servers, histories of use."""
