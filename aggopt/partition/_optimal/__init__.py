"""Column generation: minimum-SSE partitions with a lower bound."""
