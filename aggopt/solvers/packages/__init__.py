"""Solvers: one file a package, which describes it before it is imported."""
