"""Lagrangian branch and bound: separable programs to proven global optimality."""

from aggopt.solvers._lagrangian.run import run

__all__ = ["run"]
