"""How long a job would wait, and how several queues share servers."""
