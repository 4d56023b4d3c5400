"""Partitions whose groups must be close to the whole table: t-closeness."""
