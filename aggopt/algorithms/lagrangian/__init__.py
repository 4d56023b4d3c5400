"""Lagrangian branch and bound: separable programs to proven global optimality."""

from aggopt.algorithms.lagrangian.solve import run

__all__ = ["run"]
