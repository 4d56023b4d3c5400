"""Wishes of all attributes at once: a local search on a Stiefel manifold, a bound."""

from aggopt.algorithms.stiefel.run import run as run
