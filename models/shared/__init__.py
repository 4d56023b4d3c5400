"""Shared parts of models: data, constraints, bounds, and readers of answers."""
