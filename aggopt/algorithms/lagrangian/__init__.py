"""Lagrangian branch and bound: separable programs to proven global optimality."""

from aggopt.algorithms.lagrangian.run import run

__all__ = ["run"]
