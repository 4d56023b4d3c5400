"""MHM: optimal splits of orderings of the records."""
