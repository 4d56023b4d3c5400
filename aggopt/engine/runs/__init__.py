"""Runs of the engine: their folders, their journal, and runs that were killed."""
