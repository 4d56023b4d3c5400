"""Distances in single precision that spare most of those in double."""
