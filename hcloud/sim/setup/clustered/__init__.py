"""Clusters of published studies: their servers, and the jobs on them."""
