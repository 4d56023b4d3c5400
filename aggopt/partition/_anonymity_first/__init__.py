"""k-anonymity-first t-close microaggregation (algorithm 2)."""
