"""Iterated local search over partitions."""
