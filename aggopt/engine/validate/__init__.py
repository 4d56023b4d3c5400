"""Refusals of an engine: what it does not support, and what would do harm."""
