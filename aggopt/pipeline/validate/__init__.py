"""Checks of a job and its table before any work."""
