"""Optimisation programs of a job, for solvers outside the package."""
