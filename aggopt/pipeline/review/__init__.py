"""Releases that were written before: assessed, compared, repeated."""
