"""Algorithms for single optimisation models."""
