"""A box tree of the records: nearest and farthest ones without a full scan."""
