"""Solvers: one file a package, which says all that is known before it is imported."""
