"""After aggregation: scale, rounding, pseudonyms, audit and measures."""
