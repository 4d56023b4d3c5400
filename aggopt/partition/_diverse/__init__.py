"""Partitions whose groups must hold several confidential values: l-diversity."""
