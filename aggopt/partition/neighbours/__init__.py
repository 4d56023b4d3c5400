"""Nearest neighbours of all records, exact or approximate."""
