"""A result turned into a table, JSON, Markdown or a picture; nothing else prints."""
