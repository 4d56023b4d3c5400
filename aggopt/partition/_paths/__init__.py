"""Paths through all records, and their optimal split into groups."""
