"""t-closeness-first microaggregation (algorithm 3)."""
