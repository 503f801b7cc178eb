"""Files that tell jobs or machines one by one, with when each began and ended."""
