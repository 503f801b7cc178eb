"""Waiting in classes: queues by the quality that jobs need, each with a pool of servers."""
