"""Column generation for groups of k to 2k - 1 records: bounds, and a proof."""
