"""Measuring an application on this machine: pressure on one shared resource at a time, and what it costs both sides."""
